import { ask } from '@guildhall/bus/calls'
import type { Bus } from '@guildhall/bus/connect'
import { isRevoked, REVOKED_BUCKET } from '@guildhall/contracts/auth'
import { Kvm, type KvWatchEntry } from '@nats-io/kv'
import { LRUCache } from 'lru-cache'

const ASKED_MS = 5_000
const MOST_ASKED = 10_000
const PRUNE_MS = 60_000

export type Revocations = ReturnType<typeof watchRevocations>

/**
 * Knows every revoked access token by watching auth's bucket. While the watch is broken it asks auth
 * instead, and keeps the answer 5 s; if auth is away too, the asking throws and the request is refused.
 */
export function watchRevocations(bus: Bus) {
  const revoked = new Map<string, number>()
  const asked = new LRUCache<string, { revoked: boolean }>({
    max: MOST_ASKED,
    ttl: ASKED_MS,
    fetchMethod: (jti) => ask(bus, isRevoked, { jti }),
  })
  let watching = false
  let stop = () => {}

  bus.onConnected(async () => {
    stop()
    const bucket = await new Kvm(bus.js).open(REVOKED_BUCKET)
    const { values } = await bucket.status()
    const entries = await bucket.watch()
    stop = () => entries.stop()
    watching = values === 0
    void read(entries)
  })
  void notice()
  const timer = setInterval(prune, PRUNE_MS).unref()

  async function read(entries: AsyncIterable<KvWatchEntry>) {
    for await (const entry of entries) {
      revoked.set(entry.key, entry.json<{ exp: number }>().exp)
      if (entry.delta === 0) watching = true // the last of those that were there
    }
  }
  async function notice() {
    for await (const { type } of bus.nats.status()) {
      if (type === 'disconnect') watching = false
    }
    clearInterval(timer)
  }
  function prune() {
    const now = Date.now() / 1000
    for (const [jti, exp] of revoked) if (exp < now) revoked.delete(jti)
  }

  return {
    isWatching: () => watching,
    async has(jti: string) {
      if (revoked.has(jti)) return true
      return watching ? false : (await asked.forceFetch(jti)).revoked
    },
  }
}
