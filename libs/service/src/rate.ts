import type { Route } from '@guildhall/contracts/route'
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import type { z } from 'zod'
import type { rateSettings } from './config.ts'
import { AppError } from './errors.ts'

const SECONDS = 60

/** Counts in this process's memory; nothing where the limit is off. */
export function counter(perMinute: number): RateLimiterMemory | undefined {
  return perMinute > 0 ? new RateLimiterMemory({ points: perMinute, duration: SECONDS }) : undefined
}

/** Counts one. Throws 429 `rate.exceeded` once there are too many. */
export async function spend(limiter: RateLimiterMemory | undefined, key: string) {
  await limiter?.consume(key).catch((refused: RateLimiterRes) => {
    throw tooMany(refused)
  })
}

export function tooMany({ msBeforeNext }: RateLimiterRes) {
  const seconds = Math.max(1, Math.ceil(msBeforeNext / 1000))
  return new AppError(
    'rate_limited',
    'rate.exceeded',
    `Too many requests; try again in ${seconds} s`,
    { retryAfter: seconds },
  )
}

/** Counts a use of what a route costs beside being a request, by its `rate`. Throws 429. */
export function rateClasses(config: z.output<z.ZodObject<typeof rateSettings>>) {
  const classes = {
    search: counter(config.RATE_SEARCH_PER_MINUTE),
    connect: counter(config.RATE_CONNECT_PER_MINUTE),
  }
  return async ({ rate }: Pick<Route, 'rate'>, id: string) => {
    if (rate && rate !== 'sign_in') await spend(classes[rate], id)
  }
}
