import { createHash } from 'node:crypto'
import { RateLimiterMemory, RateLimiterQueue } from 'rate-limiter-flexible'

/** Of one attempt, from connecting to the last byte, where nothing else is said. */
const TIMEOUT_MS = 30_000

/** Takes turns: so many requests a second with one key, whoever asks in this process. */
export interface Pace {
  /** Resolves when it is the turn of a request with this key. */
  turn(key: string): Promise<unknown>
}

export function createPace(perSecond: number): Pace {
  // one at a time and not all at the beginning of each second: the other side counts by another clock
  const limiter = new RateLimiterMemory({ points: 1, duration: 1 / perSecond })
  const queue = new RateLimiterQueue(limiter, { maxQueueSize: Number.MAX_SAFE_INTEGER })
  return {
    turn: (key) => queue.removeTokens(1, createHash('sha256').update(key).digest('base64url')),
  }
}

/** As fetch, in turn, within `timeoutMs` from then on, without redirects, and never after `signal` has aborted. */
export function pacedFetch(
  pace: Pace,
  { key, signal, timeoutMs = TIMEOUT_MS }: { key: string; signal: AbortSignal; timeoutMs?: number },
): typeof fetch {
  return async (input, init = {}) => {
    signal.throwIfAborted()
    await pace.turn(key)
    signal.throwIfAborted()
    const signals = [signal, AbortSignal.timeout(timeoutMs), ...(init.signal ? [init.signal] : [])]
    return fetch(input, { ...init, redirect: 'error', signal: AbortSignal.any(signals) })
  }
}
