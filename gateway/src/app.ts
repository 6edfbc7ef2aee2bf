import { type KeyObject, randomUUID } from 'node:crypto'
import { Agent } from 'node:http'
import cors from '@fastify/cors'
import type { Service } from '@guildhall/contracts/names'
import type { Route } from '@guildhall/contracts/route'
import { routes } from '@guildhall/contracts/routes'
import { answerError } from '@guildhall/service/answer-error'
import { MAX_PARAM_LENGTH } from '@guildhall/service/app'
import { CALLER_HEADER, signIdentity } from '@guildhall/service/caller-token'
import { notFound } from '@guildhall/service/errors'
import type { Log } from '@guildhall/service/log'
import type { Readiness } from '@guildhall/service/probes'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  LogController,
} from 'fastify'
import helmet from 'helmet'
import type { Admitted, createAdmit } from './admit.ts'
import type { Config } from './config.ts'
import { checkLength, forward } from './forward.ts'
import { createLimits, type Limits } from './limits.ts'
import { addOwnRoutes, isDisabled } from './own-routes.ts'

export interface Deps {
  config: Config
  log: Log
  admit: ReturnType<typeof createAdmit>
  /** Where each service listens, and what the gateway signs with for it. */
  services: Record<Service, { url: URL; key: KeyObject }>
  ready: Readiness
}

declare module 'fastify' {
  interface FastifyRequest {
    admitted: Admitted | undefined
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
  app.setErrorHandler(answerError)
  const limits = createLimits(config)
  app.setNotFoundHandler(async (req) => {
    await limits.other(req)
    throw notFound()
  })
  app.decorateRequest('admitted')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_req, body, done) => done(null, body)) // flows through unread
  const secure = helmet({ crossOriginResourcePolicy: { policy: 'same-site' } })
  app.addHook('onRequest', (req, reply, done) => secure(req.raw, reply.raw, () => done()))
  app.register(cors, { origin: allowedOrigins(config), credentials: true, maxAge: 600 })
  app.addHook('onSend', async (req, reply, payload) => {
    reply.header('x-request-id', req.id)
    return payload
  })
  app.addHook('onResponse', async (req, { statusCode, elapsedTime }) => {
    const { method, url = '-' } = req.routeOptions
    const ms = Math.round(elapsedTime * 10) / 10
    req.log.info(
      { route: `${method} ${url}`, status: statusCode, org: req.admitted?.org?.id, ms },
      'request',
    )
  })
  app.register(async (scope) => {
    scope.register(async (own) => addOwnRoutes(own, deps, limits))
    addContractRoutes(scope, deps, limits)
  })
  return app
}

function addContractRoutes(
  app: FastifyInstance,
  { config, admit, services }: Deps,
  limits: Limits,
) {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 })
  app.addHook('onClose', async () => agent.destroy())

  for (const { route } of routes) {
    const { url, key } = services[route.owner]
    app.route<{ Params: Record<string, string> }>({
      method: route.method,
      url: route.url.replace(/\*\w+$/, '*'),
      onRequest: async (req) => {
        await limits.arrive(req, route)
        if (isDisabled(pathOf(route, req.params), config.DISABLED_ROUTES)) throw notFound()
        checkLength(req, route)
        const verified = (who: Parameters<typeof limits.verified>[2]) =>
          limits.verified(req, route, who)
        req.admitted = await admit({
          route,
          org: orgOf(req.params),
          authorization: req.headers.authorization,
          verified,
        }).catch((error) => limits.refused(req, error))
      },
      onSend: async (req, reply, payload) => {
        await limits.answered(req, route, reply.statusCode)
        if (route.noStore && reply.statusCode !== 404) reply.header('cache-control', 'no-store')
        return payload
      },
      handler: (req, reply) => {
        const target = { service: route.owner, method: req.method, path: req.raw.url ?? '' }
        const identity = { ...(req.admitted as Admitted), request_id: req.id }
        const headers = {
          [CALLER_HEADER]: signIdentity(identity, target, key),
          ...cookiesFor(route, req),
        }
        return forward(req, reply, { route, agent, service: url, headers })
      },
    })
  }
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

/** Only the cookies that the contract lists go on, by their plain or their `__Host-` name. */
function cookiesFor(
  { cookies: listed }: Route,
  { headers: { cookie } }: FastifyRequest,
): Record<string, string> {
  if (!listed || !cookie) return {}
  const kept = cookie
    .split('; ')
    .filter((pair) => listed.includes(pair.slice(0, pair.indexOf('=')).replace('__Host-', '')))
  return kept.length > 0 ? { cookie: kept.join('; ') } : {}
}

/** A number counts the proxies nearest to us; a list names them. */
function trusted({ TRUST_PROXY }: Config) {
  return typeof TRUST_PROXY === 'number'
    ? (_address: string, hop: number) => hop < TRUST_PROXY
    : TRUST_PROXY
}

function allowedOrigins({ CLIENT_URL, DASHBOARD_URL, ALLOWED_ORIGINS }: Config) {
  const urls = [CLIENT_URL, DASHBOARD_URL, ...ALLOWED_ORIGINS].filter((url) => url !== undefined)
  return [...new Set(urls.map((url) => new URL(url).origin))]
}
