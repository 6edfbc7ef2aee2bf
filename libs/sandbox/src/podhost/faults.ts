import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { World } from '../world.ts'
import { problemOf, refuse } from './refuse.ts'

/** How late a slow answer is, where the world says nothing. */
const SLOW_MS = 15_000
const QUOTA = 60

/** Puts the quota's headers on an answer, and refuses as the world's faults say. */
export async function podhostFault(world: World, req: FastifyRequest, reply: FastifyReply) {
  const { faults } = world
  const limited = faults.podhost === 'rate_limited'
  const wait = faults.podhostRetryAfterSeconds ?? 1
  reply.headers({
    ratelimit: `"minute";r=${limited ? 0 : QUOTA - 1};t=${wait}`,
    'ratelimit-policy': `"minute";q=${QUOTA};w=60`,
  })
  switch (faults.podhost) {
    case 'down':
      return refuse(reply, 503, 'upstream temporarily unavailable')
    case 'slow':
      world.podhostHeld = (world.podhostHeld ?? 0) + 1
      await sleep(faults.podhostSlowMs ?? SLOW_MS)
      return undefined
    case 'rate_limited':
      reply.header('retry-after', wait)
      return refuse(reply, 429, 'rate limit exceeded for the minute window')
    case 'no_capacity':
      if (!costs(req)) return undefined
      return refuse(reply, 400, 'there are no instances currently available')
    default:
      return undefined
  }
}

/** What the world's faults make of an answer to a request that was carried out. */
export async function spoiled(
  { faults }: World,
  { method, url }: FastifyRequest,
  reply: FastifyReply,
  body: unknown,
) {
  if (reply.statusCode >= 300) return body
  switch (faults.podhost) {
    case 'fails_after':
      return method === 'GET' ? body : failure(reply)
    case 'fails_after_create':
      return method === 'POST' && url.endsWith('/pods') ? failure(reply) : body
    case 'wrong_body':
      return { unexpected: true }
    case 'list_misses':
      return url.endsWith('/pods') && method === 'GET' ? { pods: [] } : body
    default:
      return body
  }
}

function failure(reply: FastifyReply) {
  reply.code(500).type('application/problem+json')
  return problemOf(500, 'internal error')
}

/** A request that needs a machine: create, and start of a stopped pod. */
function costs({ method, url, body }: FastifyRequest) {
  if (method !== 'POST') return false
  return url.endsWith('/pods') || (body as { action?: string } | null)?.action === 'start'
}
