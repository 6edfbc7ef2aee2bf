import { type KeyObject, randomUUID } from 'node:crypto'
import { Agent } from 'node:http'
import cors, { type FastifyCorsOptionsDelegateCallback } from '@fastify/cors'
import { SESSION_COOKIE } from '@guildhall/contracts/accounts'
import { SIGN_IN_REFUSED } from '@guildhall/contracts/auth'
import { postMcp } from '@guildhall/contracts/mcp'
import type { Service } from '@guildhall/contracts/names'
import type { Route } from '@guildhall/contracts/route'
import { answerError } from '@guildhall/service/answer-error'
import { takeAnyBody } from '@guildhall/service/any-body'
import { MAX_PARAM_LENGTH } from '@guildhall/service/app'
import { CALLER_HEADER, signIdentity } from '@guildhall/service/caller-token'
import { closesIdle } from '@guildhall/service/close-idle'
import { allowedOrigins, isDisabled } from '@guildhall/service/config'
import { cookieName, isHttps } from '@guildhall/service/cookie-name'
import { AppError, notFound } from '@guildhall/service/errors'
import { lingers } from '@guildhall/service/linger'
import type { Log } from '@guildhall/service/log'
import { mcpOrigins } from '@guildhall/service/mcp-origins'
import { observe } from '@guildhall/service/observe'
import type { Readiness } from '@guildhall/service/probes'
import { inTrace, TRACEPARENT, traceFromStranger, traceparent } from '@guildhall/service/trace'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import helmet from 'helmet'
import type { Admitted, createAdmit } from './admit.ts'
import type { Config } from './config.ts'
import { checkLength, forward } from './forward.ts'
import { type Arrival, createLimits, type Limits } from './limits.ts'
import { addOwnRoutes } from './own-routes.ts'

export interface Deps {
  config: Config
  log: Log
  admit: ReturnType<typeof createAdmit>
  /** Where each service listens, and what the gateway signs with for it. */
  services: Record<Service, { url: URL; key: KeyObject }>
  /** What it offers: in production every route of the contracts. */
  routes: readonly { route: Route }[]
  ready: Readiness
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Read at once: a request that ended has no address any more. */
    arrival: Arrival
    admitted: Admitted | undefined
    /** The code that the gateway itself refused it with. */
    refusal: string | undefined
  }
}

/** The public side: exactly the routes of the contracts, each admitted by what it requires and passed on. */
export function buildGateway(deps: Deps) {
  const { config, log } = deps
  const app = Fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }), // ours is below
    genReqId: () => randomUUID(),
    trustProxy: trusted(config),
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH, ignoreTrailingSlash: true },
    frameworkErrors: answerError,
    return503OnClosing: false,
  })
  observe(app, 'gateway', traceFromStranger)
  app.setErrorHandler((error, req, reply) => {
    if (error instanceof AppError) req.refusal = error.code
    return inTrace(req.trace, () => answerError(error, req, reply))
  })
  const limits = createLimits(config)
  app.setNotFoundHandler(async (req) => {
    await limits.other(req)
    throw notFound()
  })
  lingers(app)
  closesIdle(app)
  app.decorateRequest('arrival')
  app.decorateRequest('admitted')
  app.decorateRequest('refusal')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_req, body, done) => done(null, body)) // flows through unread
  const secure = helmet({ crossOriginResourcePolicy: { policy: 'same-site' } })
  app.addHook('onRequest', (req, reply, done) => secure(req.raw, reply.raw, () => done()))
  app.register(cors, () => corsOf(config))
  app.addHook('onSend', async (req, reply, payload) => {
    reply.header('x-request-id', req.id)
    return payload
  })
  app.addHook('onResponse', async (req, { statusCode, elapsedTime }) => {
    const { method, url = '-' } = req.routeOptions
    const ms = Math.round(elapsedTime * 10) / 10
    const { admitted, refusal: reason } = req
    const line = { route: `${method} ${url}`, status: statusCode, org: admitted?.org?.id, ms }
    inTrace(req.trace, () => req.log.info({ ...line, ...(reason && { reason }) }, 'request'))
  })
  app.register(async (scope) => {
    scope.register(async (own) => addOwnRoutes(own, deps, limits))
    addContractRoutes(scope, deps, limits)
  })
  return app
}

/** Whose pages may read answers. MCP takes no cookie, so it may be called from more. */
function corsOf(config: Config): FastifyCorsOptionsDelegateCallback {
  const ours = { origin: allowedOrigins(config), credentials: true, maxAge: 600 }
  const ofMcp = { origin: mcpOrigins(config), maxAge: 600 }
  return ({ url }, done) => done(null, url.split('?', 1)[0] === postMcp.url ? ofMcp : ours)
}

function addContractRoutes(
  app: FastifyInstance,
  { config, admit, services, routes }: Deps,
  limits: Limits,
) {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 })
  const origins = allowedOrigins(config)
  const secure = isHttps(config.ACCOUNTS_BASE_URL)
  const sessionCookie = cookieName({ name: SESSION_COOKIE, secure })
  app.addHook('onClose', async () => agent.destroy())

  for (const { route } of routes) {
    const { url, key } = services[route.owner]
    app.route<{ Params: Record<string, string> }>({
      method: route.method,
      url: route.url.replace(/\*\w+$/, '*'),
      exposeHeadRoute: route.writes !== true,
      onRequest: async (req) => {
        const { authorization } = req.headers
        const session = sessionOf(req, sessionCookie)
        const foreignOrigin = isForeignWrite(req, origins)
        const arrival = { credential: authorization ?? session, ip: req.ip }
        req.arrival = arrival
        await limits.arrive(arrival, route)
        if (isDisabled(pathOf(route, req.params), config.DISABLED_ROUTES)) throw notFound()
        if (route.anyBody) takeAnyBody(req)
        else checkLength(req, route)
        const verified = (who: Parameters<typeof limits.verified>[2]) =>
          limits.verified(arrival, route, who)
        req.admitted = await admit({
          route,
          org: orgOf(req.params),
          authorization,
          session,
          foreignOrigin,
          verified,
        }).catch((error) => limits.refused(arrival, error))
        req.trace.org = req.admitted.org?.id
      },
      onSend: async (req, reply, payload) => {
        await limits.answered(req.arrival, route, outcomeOf(req, reply))
        reply.removeHeader(SIGN_IN_REFUSED)
        if (route.noStore && reply.statusCode !== 404) reply.header('cache-control', 'no-store')
        return payload
      },
      handler: (req, reply) => {
        const target = { service: route.owner, method: req.method, path: req.raw.url ?? '' }
        const identity = { ...(req.admitted as Admitted), request_id: req.id }
        const headers = {
          [CALLER_HEADER]: signIdentity(identity, target, key),
          [TRACEPARENT]: String(traceparent()),
          ...cookiesFor(route, req, { origins, sessionCookie }),
        }
        return forward(req, reply, { route, agent, service: url, headers })
      },
    })
  }
}

/** How a request ended: of a callback, which sends the browser on either way, auth says it in a header. */
function outcomeOf({ method }: FastifyRequest, reply: FastifyReply) {
  const refused =
    reply.hasHeader(SIGN_IN_REFUSED) || (method === 'POST' && [400, 401].includes(reply.statusCode))
  return { refused, hungUp: reply.raw.destroyed }
}

/** The org that the URL names, by prefix or id. */
function orgOf({ org, org_id }: Record<string, string>) {
  if (org !== undefined) return org
  if (org_id === undefined) return undefined
  return /^\d{1,9}$/.test(org_id) ? Number(org_id) : ''
}

/** The path as it was understood, however it was spelled. */
const pathOf = ({ url }: Route, params: Record<string, string>) =>
  url.replace(/:(\w+)|\*\w+/g, (_, name = '*') => params[name] ?? '')

/** The cookies sent, by their names, each as it came. */
function cookiesOf({ headers: { cookie = '' } }: FastifyRequest) {
  return cookie.split('; ').map((pair) => {
    const at = pair.indexOf('=')
    return { name: pair.slice(0, at), value: pair.slice(at + 1), pair }
  })
}

/** The session of the cookie, if there is exactly one; beside an Authorization header it does not count. */
function sessionOf(req: FastifyRequest, cookie: string): string | undefined {
  if (req.headers.authorization !== undefined) return undefined
  const [session, another] = cookiesOf(req).filter(({ name }) => name === cookie)
  return another ? undefined : session?.value
}

/** True for a write from a page that is none of ours, or that does not say where it comes from. */
function isForeignWrite({ method, headers: { origin } }: FastifyRequest, origins: string[]) {
  return method !== 'GET' && method !== 'HEAD' && !origins.includes(origin ?? '')
}

/** Only the cookies that the contract lists go on, and the session only where it counts. */
function cookiesFor(
  { cookies: listed = [] }: Route,
  req: FastifyRequest,
  { origins, sessionCookie }: { origins: string[]; sessionCookie: string },
): Record<string, string> {
  if (listed.length === 0) return {}
  const session = !isForeignWrite(req, origins) && sessionOf(req, sessionCookie) !== undefined
  const kept = cookiesOf(req).filter(({ name }) => {
    const plain = name.replace(/^__Host-/, '')
    if (plain === SESSION_COOKIE) return session && name === sessionCookie && listed.includes(plain)
    return listed.includes(plain)
  })
  return kept.length > 0 ? { cookie: kept.map(({ pair }) => pair).join('; ') } : {}
}

/** A number counts the proxies nearest to us; a list names them. */
function trusted({ TRUST_PROXY }: Config) {
  return typeof TRUST_PROXY === 'number'
    ? (_address: string, hop: number) => hop < TRUST_PROXY
    : TRUST_PROXY
}
