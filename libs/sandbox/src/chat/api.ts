import { createHash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { World } from '../world.ts'
import type { ChatDeps } from './deps.ts'
import { guildRoutes } from './guilds.ts'
import { refuse } from './refuse.ts'
import { tokenRoute } from './tokens.ts'
import { userRoutes } from './users.ts'

/** How late a slow platform answers. */
export const SLOW_MS = 10_000
const LIMIT = 50
const WINDOW_SECONDS = 1

/** The part of Discord's REST API v10 that Guildhall uses. */
export function chatApi(app: FastifyInstance, deps: ChatDeps) {
  app.register(
    async (api) => {
      api.addHook('onRequest', (req, reply) => beginAnswer(deps.world, req, reply))
      api.setNotFoundHandler((_req, reply) => refuse(reply, 'not_found'))
      api.setErrorHandler((error, _req, reply) => {
        if ((error as { statusCode?: number }).statusCode === undefined) throw error
        return refuse(reply, 'bad_request')
      })
      tokenRoute(api, deps)
      userRoutes(api, deps)
      guildRoutes(api, deps)
    },
    { prefix: '/chat/api/v10' },
  )
}

/** Puts the rate-limit headers on every answer and answers at once where the world says so. */
async function beginAnswer({ faults }: World, req: FastifyRequest, reply: FastifyReply) {
  const limited = faults.chat === 'rate_limited'
  const seconds = limited ? (faults.chatRetryAfterSeconds ?? 1) : WINDOW_SECONDS
  reply.headers({
    'x-ratelimit-limit': LIMIT,
    'x-ratelimit-remaining': limited ? 0 : LIMIT - 1,
    'x-ratelimit-reset': (Date.now() / 1000 + seconds).toFixed(3),
    'x-ratelimit-reset-after': seconds.toFixed(3),
    'x-ratelimit-bucket': bucketOf(req),
  })
  if (faults.chat === 'slow') await wait(SLOW_MS, undefined, { ref: false })
  if (faults.chat === 'down') return refuse(reply, 'down')
  if (limited) {
    const body = {
      message: 'You are being rate limited.',
      retry_after: seconds,
      global: false,
      code: 0,
    }
    const headers = { 'retry-after': seconds, 'x-ratelimit-scope': 'user' }
    return reply.code(429).headers(headers).send(body)
  }
  return undefined
}

/** Each route counts on its own; the client tells them apart by this opaque name. */
function bucketOf({ method, routeOptions: { url = '' } }: FastifyRequest) {
  return createHash('sha256').update(`${method} ${url}`).digest('hex').slice(0, 32)
}
