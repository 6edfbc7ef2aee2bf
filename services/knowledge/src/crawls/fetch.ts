import {
  checkedUrl,
  type GuardedAnswer,
  type GuardedOptions,
  guardedFetch,
  ledInside,
} from '@guildhall/outbound/guarded'
import { retryAfterMs } from '@guildhall/outbound/retry-after'
import { AppError } from '@guildhall/service/errors'
import type { Hosts } from './hosts.ts'
import { hostOf } from './rules.ts'

/** Of one page, all its redirects and each robots.txt together, without the time that waiting for a host takes (decisions.md § 3). */
export const TIMEOUT_MS = 30_000
export const MAX_BYTES = 10 * 1024 * 1024
export const MAX_REDIRECTS = 5
const REDIRECTS = [301, 302, 303, 307, 308]
/** Statuses whose Retry-After is a pause for the whole host (RFC 9110 § 10.2.3, RFC 6585 § 4). */
const BUSY = [429, 503]
const LONGEST_PAUSE_SECONDS = 24 * 60 * 60

/** What crawls are allowed. But for the blocked networks only tests set it. */
export interface Bounds
  extends Pick<GuardedOptions, 'allowAddresses' | 'blockedNetworks' | 'lookup'> {
  timeoutMs?: number
  maxBytes?: number
  /** Of a whole crawl. */
  crawlMs?: number
}

/** Milliseconds that a page still has, counted down by its requests. */
export interface Time {
  left: number
}

interface Getting {
  headers(url: string): Record<string, string>
  /** Asked before each request, of redirects too; what it fetches takes of the page's time. Throws where the URL is not to be fetched. */
  check?(url: string, time: Time): Promise<void>
  signal: AbortSignal
  /** Missing for a page that has all its time. */
  time?: Time
}
export type Get = (url: string, getting: Getting) => Promise<GuardedAnswer>

/** Fetches from the public internet only, each request when its host has time, redirects one at a time. Throws as guardedFetch does. */
export function createGet(hosts: Hosts, { timeoutMs = TIMEOUT_MS, ...guard }: Bounds): Get {
  async function once(target: string, { headers, check, signal }: Getting, time: Time) {
    await check?.(target, time)
    return hosts.turn(hostOf(target), signal, async (rest) => {
      const started = performance.now()
      const options = { ...guard, headers: headers(target), signal, timeoutMs: time.left }
      try {
        const got = await guardedFetch(target, { ...options, redirect: 'manual' })
        rest(pauseOf(got) ?? 0)
        return got
      } finally {
        time.left = Math.max(1, Math.floor(time.left - (performance.now() - started)))
      }
    })
  }

  return async (url, getting) => {
    const start = checkedUrl(url)
    const time = getting.time ?? { left: timeoutMs }
    let target = start.href
    for (let redirects = 0; ; redirects++) {
      const answer = await once(target, getting, time).catch((error) => {
        throw redirects > 0 ? ledInside(start, error) : error
      })
      const next = locationOf(answer)
      if (next === null) return answer
      if (redirects >= MAX_REDIRECTS) throw tooMany(url)
      target = checkedUrl(next).href
    }
  }
}

/** Seconds for which the site asks not to be asked again, at most a day. */
export function pauseOf({ status, headers }: GuardedAnswer): number | undefined {
  const ms = BUSY.includes(status) ? retryAfterMs(headers.get('retry-after')) : undefined
  return ms === undefined ? undefined : Math.min(LONGEST_PAUSE_SECONDS, Math.ceil(ms / 1000))
}

function locationOf({ status, headers, url }: GuardedAnswer): string | null {
  const location = REDIRECTS.includes(status) ? headers.get('location') : null
  return location === null ? null : (URL.parse(location, url)?.href ?? location)
}

const tooMany = (url: string) =>
  new AppError(
    'upstream',
    'url.redirected',
    `${new URL(url).host} redirects more than ${MAX_REDIRECTS} times`,
  )
