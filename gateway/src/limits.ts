import { hash } from 'node:crypto'
import type { Route } from '@guildhall/contracts/route'
import { MACHINE_TOKEN_PREFIX } from '@guildhall/contracts/tokens'
import { AppError } from '@guildhall/service/errors'
import type { FastifyRequest } from 'fastify'
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import type { Config } from './config.ts'

const SECONDS = 60

/** Counts requests in this gateway's memory (decisions.md § 0, Rate limits). */
export function createLimits(config: Config) {
  const credential = counter(config.RATE_CREDENTIAL_PER_MINUTE)
  const machine = counter(config.RATE_MACHINE_PER_MINUTE)
  const search = counter(config.RATE_SEARCH_PER_MINUTE)
  const address = counter(config.RATE_ADDRESS_PER_MINUTE)
  const failures = counter(config.RATE_FAILED_SIGN_INS_PER_MINUTE)

  async function checkFailures(ip: string) {
    const known = await failures?.get(ip)
    if (failures && known && known.consumedPoints >= failures.points) throw tooMany(known)
  }

  return {
    /** Counts a request; throws 429 past the limit of its credential, else of its address. */
    async count({ headers, ip }: FastifyRequest, { rate }: Route) {
      const { authorization } = headers
      if (authorization || rate === 'sign_in') await checkFailures(ip)
      if (!authorization) return spend(address, ip)
      const key = hash('sha256', authorization, 'base64url')
      if (rate === 'search') await spend(search, key)
      await spend(authorization.includes(MACHINE_TOKEN_PREFIX) ? machine : credential, key)
    },

    /** Counts a credential or a sign-in that was refused. */
    async countFailure({ ip }: FastifyRequest) {
      await failures?.penalty(ip)
    },
  }
}

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
