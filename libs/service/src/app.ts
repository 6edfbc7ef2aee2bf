import type { KeyObject } from 'node:crypto'
import multipart from '@fastify/multipart'
import { fits } from '@guildhall/contracts/caller'
import type { Service } from '@guildhall/contracts/names'
import {
  type Answer,
  type Handler,
  Html,
  type Input,
  MEBIBYTE,
  Problem,
  Redirect,
  type Route,
} from '@guildhall/contracts/route'
import Fastify, {
  errorCodes,
  type FastifyBaseLogger,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { type Admit, admitted, untilDone } from './admission.ts'
import { answerError } from './answer-error.ts'
import { storableOrNone, takeAnyBody } from './any-body.ts'
import { CALLER_HEADER, type Identity, openIdentity } from './caller-token.ts'
import { closesIdle } from './close-idle.ts'
import { AppError, notFound } from './errors.ts'
import { readForm } from './form.ts'
import { streamForm } from './form-stream.ts'
import { lingers } from './linger.ts'
import type { Log } from './log.ts'
import { observe } from './observe.ts'
import { addProbes, type Readiness } from './probes.ts'
import { checkStorable } from './storable.ts'
import { inTrace, traceFrom } from './trace.ts'

/** The longest path parameter: a source key of 255 characters, each of them escaped. */
export const MAX_PARAM_LENGTH = 3 * 255

declare module 'fastify' {
  interface FastifyRequest {
    identity: Identity | undefined
  }
  interface FastifyContextConfig {
    /** As the contract has it. */
    anyBody?: boolean
  }
}

export interface AppDeps {
  service: Service
  log: Log
  /** From `callerKey`: what the gateway signs with for this service. */
  callerKey: KeyObject
  ready: Readiness
}
export type App = ReturnType<typeof createApp>

/** A service's HTTP side. It answers only what the gateway has admitted, on routes of the contracts. */
export function createApp({ service, log, callerKey, ready }: AppDeps) {
  const app = Fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }), // the gateway writes the one line of a request
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH, ignoreTrailingSlash: true },
    frameworkErrors: answerError,
    return503OnClosing: false, // what still arrives on open connections is answered, not refused
  })
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  observe(app, service, traceFrom)
  app.setErrorHandler((error, req, reply) =>
    inTrace(req.trace, () => answerError(error, req, reply)),
  )
  const parseJson = app.getDefaultJsonParser('ignore', 'ignore') // checkStorable refuses such keys, and names them
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (req, body, done) => {
    const { schema, config } = req.routeOptions
    if (body === '' && mayBeLeftOut(schema?.body)) return done(null, undefined)
    return parseJson(req, String(body), config.anyBody ? (_, read) => done(null, read) : done)
  }) // many clients call every body JSON, also the one that a DELETE has not
  app.removeContentTypeParser('text/plain') // no contract takes it: a 415 says so, a wrong body would not
  app.setNotFoundHandler(() => {
    throw notFound()
  })
  app.decorateRequest('identity')
  app.register(multipart)
  lingers(app)
  closesIdle(app)
  addProbes(app, ready)

  /** `admit` is asked before the body of a form is read (admission.ts). */
  function implement<R extends Route>(route: R, handler: NoInfer<Handler<R>>, admit?: Admit) {
    if (route.owner !== service) throw new Error(`${route.url} belongs to ${route.owner}`)
    const named = /\*(\w+)$/.exec(route.url)?.[1]
    app.route({
      method: route.method,
      url: route.url.replace(/\*\w+$/, '*'),
      bodyLimit: route.maxBytes ?? MEBIBYTE,
      schema: schemaOf(route),
      config: { anyBody: route.anyBody === true },
      exposeHeadRoute: route.writes !== true,
      onRequest: async (req) => {
        if (route.anyBody) takeAnyBody(req)
        req.identity = identify(req, route, { service, callerKey })
        req.trace.org = req.identity.org?.id
        req.id = req.identity.request_id // the gateway's, so that its line and ours are found together
        req.log = log.child({ reqId: req.id }) as FastifyBaseLogger // Fastify's own has another id
        if (named) req.params = nameRest(req.params, named)
      },
      preValidation: async (req, reply) => {
        if (route.form)
          req.body = await admitted(req, reply, admit, () => formOf(route, req, reply))
        else if (req.isMultipart()) throw new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE()
        else req.body ??= route.body && {} // a body that may be left out is an empty object
        if (route.anyBody) req.body = storableOrNone(req.body)
        for (const part of [req.params, req.query, req.body]) checkStorable(part)
      },
      handler: (req, reply) => {
        const { identity, params, query, body, headers } = req
        const cookies = parseCookies(headers.cookie)
        const idempotency_key = route.idempotent && idempotencyKeyOf(headers)
        const named = namedHeaders(route, headers)
        const input = { ...identity, params, query, body, cookies, headers: named, idempotency_key }
        const work = () => handler(input as unknown as Input<R>, reply as unknown as Answer<R>)
        return admit ? untilDone(req, work) : work()
      },
    })
  }
  return Object.assign(app, { implement })
}

function formOf(
  { form, body, maxBytes = MEBIBYTE }: Route,
  req: FastifyRequest,
  reply: FastifyReply,
) {
  if (!form?.streamed) return form && readForm(req, form, maxBytes)
  const { [form.field]: _, ...texts } = body instanceof z.ZodObject ? body.shape : {}
  return streamForm(req, reply, { form, names: Object.keys(texts) })
}

/** True where a route has no body, or takes an empty object for one. */
const mayBeLeftOut = (body: unknown) => !(body instanceof z.ZodType) || body.safeParse({}).success

/** Refusals are Problems whatever the contract says. An undefined key would make Fastify warn. */
function schemaOf({ params, query, body, reply }: Route) {
  const checked = Object.entries(reply).filter(
    ([, schema]) => schema !== Redirect && schema !== Html,
  )
  const response = { ...Object.fromEntries(checked), '4xx': Problem, '5xx': Problem }
  return {
    ...(params && { params }),
    ...(query && { querystring: query }),
    ...(body && { body }),
    response,
  }
}

function identify(
  req: FastifyRequest,
  route: Route,
  { service, callerKey }: Pick<AppDeps, 'service' | 'callerKey'>,
): Identity {
  const target = { service, method: req.method, path: req.raw.url ?? '' }
  const identity = openIdentity(String(req.headers[CALLER_HEADER]), target, callerKey)
  if (!identity)
    throw new AppError('unauthenticated', 'caller.unsigned', 'Call the gateway, not the service')
  if (!fits(identity.caller, route.caller)) {
    throw new AppError('forbidden', 'caller.unfit', 'Not for this caller')
  }
  return identity
}

function namedHeaders({ headers: names = [] }: Route, sent: FastifyRequest['headers']) {
  return Object.fromEntries(
    names.flatMap((name) => (sent[name] === undefined ? [] : [[name, String(sent[name])]])),
  )
}

/** Longest Idempotency-Key; a UUID has 36. */
const MOST_KEY_CHARS = 255

function idempotencyKeyOf({ 'idempotency-key': key }: FastifyRequest['headers']) {
  if (
    key === undefined ||
    (typeof key === 'string' && /^[\x21-\x7e]+$/.test(key) && key.length <= MOST_KEY_CHARS)
  )
    return key
  throw new AppError(
    'invalid',
    'idempotency.key',
    `An Idempotency-Key is 1 to ${MOST_KEY_CHARS} visible ASCII characters`,
  )
}

function nameRest(params: unknown, name: string) {
  const { '*': rest, ...others } = params as Record<string, string>
  return { ...others, [name]: rest }
}

/** RFC 6265 § 4.2.1; only what the contract lists has come through the gateway. */
function parseCookies(header = ''): Record<string, string> {
  const pairs = header
    .split('; ')
    .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)])
  return Object.fromEntries(pairs.filter(([name]) => name))
}
