import { LRUCache } from 'lru-cache'
import type { Leg } from './leg.ts'

/** An answer from before counts so long at most while there is no newer one. */
const COUNTS_MS = 10 * 60_000
const ANSWERS_KEPT = 1_000

/**
 * What others were last heard to say, for searches: as soon as `leg` fails, that counts at once and nobody waits.
 * `ask` keeps its answers itself as long as they are new.
 */
export function lastKnown<Key extends {}, Value extends {}>(
  ask: (key: Key) => Promise<Value>,
  leg: Leg,
) {
  const last = new LRUCache<Key, Value>({ max: ANSWERS_KEPT, ttl: COUNTS_MS })
  const fresh = (key: Key) =>
    leg.run(async () => {
      const value = await ask(key)
      last.set(key, value)
      return value
    })
  return {
    /** Nothing where nobody answers and nothing is known from before. */
    async of(key: Key): Promise<Value | undefined> {
      const failing = leg.failure() !== undefined
      const asked = fresh(key) // also while it fails: else nobody would notice that it works again
      const known = last.get(key)
      if (!failing || known === undefined) return (await asked) ?? last.get(key)
      asked.catch(() => undefined)
      return known
    },
    /** What is known has changed, so it counts no longer. */
    forget: (key: Key) => last.delete(key),
  }
}
