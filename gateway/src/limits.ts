import { hash } from 'node:crypto'
import type { Caller } from '@guildhall/contracts/caller'
import type { Route } from '@guildhall/contracts/route'
import { AppError } from '@guildhall/service/errors'
import type { FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import type { Config } from './config.ts'

const SECONDS = 60
const MOST_KNOWN = 10_000

/**
 * Counts requests in this gateway's memory (decisions.md § 0, Rate limits): by address until a credential
 * is verified, and then by whom it stands for, so that no spelling of it counts anew.
 */
export function createLimits(config: Config) {
  const credential = counter(config.RATE_CREDENTIAL_PER_MINUTE)
  const machine = counter(config.RATE_MACHINE_PER_MINUTE)
  const search = counter(config.RATE_SEARCH_PER_MINUTE)
  const address = counter(config.RATE_ADDRESS_PER_MINUTE)
  const failures = counter(config.RATE_FAILED_SIGN_INS_PER_MINUTE)
  /** Credentials that were good lately: an address full of bad ones does not lock these out. */
  const good = new LRUCache<string, true>({ max: MOST_KNOWN, ttl: SECONDS * 1000 })

  async function checkFailures(ip: string) {
    const known = await failures?.get(ip)
    if (failures && known && known.consumedPoints >= failures.points) throw tooMany(known)
  }

  return {
    /** Before anything is verified. Throws 429. */
    async arrive({ headers: { authorization }, ip }: FastifyRequest, { rate, caller }: Route) {
      const isKnown = authorization !== undefined && good.has(keyOf(authorization))
      if ((authorization && !isKnown) || rate === 'sign_in') await checkFailures(ip)
      if (!authorization || caller.accepts.includes('public')) await spend(address, ip)
    },

    /** Once it is known who calls. Throws 429. */
    async admit({ headers: { authorization } }: FastifyRequest, { rate }: Route, caller: Caller) {
      if (!authorization || caller.kind === 'public') return
      good.set(keyOf(authorization), true)
      const who = caller.kind === 'machine' ? caller.token_id : caller.chat_user_id
      if (rate === 'search') await spend(search, who)
      await spend(caller.kind === 'machine' ? machine : credential, who)
    },

    /** Counts a credential, or a code of a sign-in, that was refused. */
    async refuse(req: FastifyRequest, { rate }: Route, status: number) {
      const { authorization } = req.headers
      const failed = authorization
        ? status === 401
        : rate === 'sign_in' && [400, 401].includes(status)
      if (!failed) return
      if (authorization) good.delete(keyOf(authorization))
      await failures?.penalty(req.ip) // not read before: a client that hung up has none
    },
  }
}

const keyOf = (authorization: string) => hash('sha256', authorization, 'base64url')

/** Nothing where the limit is off. */
function counter(points: number) {
  return points > 0 ? new RateLimiterMemory({ points, duration: SECONDS }) : undefined
}

async function spend(limiter: RateLimiterMemory | undefined, key: string) {
  await limiter?.consume(key).catch((refused: RateLimiterRes) => {
    throw tooMany(refused)
  })
}

function tooMany({ msBeforeNext }: RateLimiterRes) {
  const seconds = Math.max(1, Math.ceil(msBeforeNext / 1000))
  return new AppError(
    'rate_limited',
    'rate.exceeded',
    `Too many requests; try again in ${seconds} s`,
    { retryAfter: seconds },
  )
}
