import { setTimeout as wait } from 'node:timers/promises'
import { ask } from '@guildhall/bus/calls'
import type { Bus } from '@guildhall/bus/connect'
import {
  isRevoked,
  REVOKED_BEAT,
  REVOKED_BUCKET,
  REVOKED_COMPLETE,
  REVOKED_COMPLETE_MS,
  REVOKED_SILENCE_MS,
} from '@guildhall/contracts/auth'
import { kept } from '@guildhall/service/kept'
import { Kvm, type KvWatchEntry } from '@nats-io/kv'
import { LRUCache } from 'lru-cache'

const ASKED_MS = 5_000
const MOST_ASKED = 10_000
const PRUNE_MS = 60_000
const AGAIN_MS = 500

export type Revocations = ReturnType<typeof watchRevocations>

/**
 * Knows every revoked access token by watching auth's bucket. Until auth has written it whole, of late, and while
 * the watch is broken or has not brought auth's beat for a second, it asks auth instead and keeps the answer
 * 5 s; if auth is away too, the asking throws and the request is refused. Ends with `signal`.
 */
export function watchRevocations(
  bus: Bus,
  signal: AbortSignal,
  completeMs = REVOKED_COMPLETE_MS, // tests wait less
) {
  const revoked = new Map<string, number>()
  const asked = new LRUCache<string, { revoked: boolean }>({
    max: MOST_ASKED,
    ttl: ASKED_MS,
    fetchMethod: (jti) => ask(bus, isRevoked, { jti }),
  })
  let watching = false
  let heardAt = Number.NEGATIVE_INFINITY
  const hears = () => watching && performance.now() - heardAt < REVOKED_SILENCE_MS
  const afterGap: (() => void)[] = []
  const timer = setInterval(prune, PRUNE_MS)
  signal.addEventListener('abort', () => clearInterval(timer))
  void noticeLoss()
  void keepWatching()

  async function keepWatching() {
    while (!signal.aborted) {
      await watchOnce().catch((error) =>
        bus.log.debug({ err: error }, 'The bucket of revoked tokens cannot be watched yet'),
      )
      watching = false
      await wait(AGAIN_MS, undefined, { signal }).catch(() => {})
    }
  }

  /** Reads until the watch ends, which it does when the connection is lost. */
  async function watchOnce() {
    const bucket = await new Kvm(bus.js).open(REVOKED_BUCKET)
    const entries = await bucket.watch()
    const stop = () => entries.stop()
    signal.addEventListener('abort', stop)
    const lost = onLoss(stop)
    let markedAt = Number.NEGATIVE_INFINITY
    for await (const entry of entries) {
      const { key, isUpdate, created } = entry
      if (key === REVOKED_COMPLETE) markedAt = created.getTime()
      note(entry)
      // Those that were there have come; beats go on and tell the broker's time. Not by the count of those
      // left (delta), which drifts while beats replace beats.
      watching ||= isUpdate && created.getTime() - markedAt < completeMs
    }
    signal.removeEventListener('abort', stop)
    lost()
  }

  function note(entry: KvWatchEntry) {
    if (entry.key === REVOKED_COMPLETE) return
    if (entry.key === REVOKED_BEAT) noteBeat()
    else if (entry.operation === 'PUT') revoked.set(entry.key, entry.json<{ exp: number }>().exp)
  }

  function noteBeat() {
    if (!hears()) for (const work of afterGap) work()
    heardAt = performance.now()
  }

  const listeners = new Set<() => void>()
  function onLoss(work: () => void) {
    listeners.add(work)
    return () => listeners.delete(work)
  }
  async function noticeLoss() {
    for await (const { type } of bus.nats.status()) {
      if (type !== 'disconnect') continue
      watching = false
      for (const stop of listeners) stop()
    }
  }
  function prune() {
    const now = Date.now() / 1000
    for (const [jti, exp] of revoked) if (exp < now) revoked.delete(jti)
  }

  return {
    /** False while a revocation might not be heard of. */
    hears,
    /** Calls `work` each time that it hears again: messages between may have been lost. */
    onHearingAgain: (work: () => void) => void afterGap.push(work),
    async has(jti: string) {
      if (revoked.has(jti)) return true
      return hears() ? false : (await kept(asked, jti)).revoked
    },
  }
}
