import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { World } from '../world.ts'

/** What a bucket takes where the world says nothing. */
const USUAL = { requests: 50, seconds: 1 }
const MOST_BUCKETS = 1_000

interface Bucket {
  used: number
  endsAt: number
}

/**
 * Counts requests as the platform does: each route on its own, and within it each guild and each credential.
 * The hook puts the rate-limit headers on every answer and refuses what is too much with 429.
 */
export function createLimits(world: World) {
  const buckets = new Map<string, Bucket>()

  return (req: FastifyRequest, reply: FastifyReply) => {
    const { faults, chatLimit = USUAL } = world
    const told = faults.chat === 'rate_limited'
    const bucket = take(req, chatLimit)
    const seconds = told
      ? (faults.chatRetryAfterSeconds ?? 1)
      : Math.max(0, bucket.endsAt - Date.now()) / 1000
    reply.headers({
      'x-ratelimit-limit': chatLimit.requests,
      'x-ratelimit-remaining': told ? 0 : Math.max(0, chatLimit.requests - bucket.used),
      'x-ratelimit-reset': (Date.now() / 1000 + seconds).toFixed(3),
      'x-ratelimit-reset-after': seconds.toFixed(3),
      'x-ratelimit-bucket': nameOf(req),
    })
    return told || bucket.used > chatLimit.requests ? { waitSeconds: seconds } : undefined
  }

  function take(req: FastifyRequest, { seconds }: typeof USUAL): Bucket {
    const { guild_id = '' } = (req.params ?? {}) as { guild_id?: string }
    const key = [nameOf(req), guild_id, req.headers.authorization].join(' ')
    const known = buckets.get(key)
    if (known && known.endsAt > Date.now()) {
      known.used += 1
      return known
    }
    if (buckets.size >= MOST_BUCKETS) buckets.clear()
    const begun = { used: 1, endsAt: Date.now() + seconds * 1000 }
    buckets.set(key, begun)
    return begun
  }
}

/** Refuses as the platform does with a request that came too early. */
export function refuseLimited(reply: FastifyReply, waitSeconds: number) {
  const body = {
    message: 'You are being rate limited.',
    retry_after: waitSeconds,
    global: false,
    code: 0,
  }
  const headers = { 'retry-after': waitSeconds, 'x-ratelimit-scope': 'user' }
  return reply.code(429).headers(headers).send(body)
}

/** The client tells buckets apart by this opaque name. */
function nameOf({ method, routeOptions: { url = '' } }: FastifyRequest) {
  return createHash('sha256').update(`${method} ${url}`).digest('hex').slice(0, 32)
}
