import {
  checkedUrl,
  type GuardedAnswer,
  type GuardedOptions,
  guardedFetch,
} from '@guildhall/outbound/guarded'
import { AppError } from '@guildhall/service/errors'
import type { Hosts } from './hosts.ts'
import { hostOf } from './rules.ts'

/** Of one page, all its redirects together, without the time that waiting for a host takes (decisions.md § 3). */
const TIMEOUT_MS = 30_000
export const MAX_BYTES = 10 * 1024 * 1024
const MAX_REDIRECTS = 5
const REDIRECTS = [301, 302, 303, 307, 308]

/** What crawls are allowed. Only tests set it. */
export interface Bounds extends Pick<GuardedOptions, 'allowAddresses' | 'lookup'> {
  timeoutMs?: number
  maxBytes?: number
}

interface Getting {
  headers(url: string): Record<string, string>
  /** Asked before each request, of redirects too. Throws where the URL is not to be fetched. */
  check?(url: string): Promise<void>
  signal: AbortSignal
}
export type Get = (url: string, getting: Getting) => Promise<GuardedAnswer>

/** Fetches from the public internet only, each request when its host has time, redirects one at a time. Throws as guardedFetch does. */
export function createGet(hosts: Hosts, { timeoutMs = TIMEOUT_MS, ...guard }: Bounds): Get {
  return async (url, { headers, check, signal }) => {
    let target = checkedUrl(url).href
    let left = timeoutMs
    for (let redirects = 0; ; redirects++) {
      await check?.(target)
      const answer = await hosts.turn(hostOf(target), signal, async () => {
        const started = performance.now()
        const options = { ...guard, headers: headers(target), redirect: 'manual' as const, signal }
        const got = await guardedFetch(target, { ...options, timeoutMs: left })
        left = Math.max(1, Math.floor(left - (performance.now() - started)))
        return got
      })
      const next = locationOf(answer)
      if (next === null) return answer
      if (redirects >= MAX_REDIRECTS) throw tooMany(url)
      target = checkedUrl(next).href
    }
  }
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
