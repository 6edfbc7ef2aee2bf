import { kept, PATIENCE_MS, unsettled } from '@guildhall/service/kept'
import { LRUCache } from 'lru-cache'

const MOST_KEYS = 10_000

type Key = string | number
/** True where a change concerns what was found under a key. */
type Touches<Found> = (key: Key, found: Found) => boolean

interface Options<Found, Asked> {
  find(asked: Asked): Promise<Found>
  /** How long an answer counts. */
  msOf(found: NoInfer<Found>): number
}

/**
 * Answers that are kept for a while, failures never; many who ask at once share one asking. A change drops the
 * answers that it touches and no others. What it touches while it is being asked for is asked for again.
 */
export function createKnown<Found extends {}, Asked>({ find, msOf }: Options<Found, Asked>) {
  const underWay = new Set<Touches<Found>[]>()
  const cache = new LRUCache<Key, Found, { asked: Asked }>({
    max: MOST_KEYS,
    ttl: 1,
    fetchMethod: async (key, _stale, { context, options }) => {
      const found = await findUnchanged(key, context.asked)
      options.ttl = Math.max(1, msOf(found))
      return found
    },
  })

  /** Whom an answer is about is known only when it is there; the changes meanwhile are remembered for it. */
  async function findUnchanged(key: Key, asked: Asked): Promise<Found> {
    const end = performance.now() + PATIENCE_MS
    do {
      const changes: Touches<Found>[] = []
      underWay.add(changes)
      const found = await find(asked).finally(() => underWay.delete(changes))
      if (!changes.some((touches) => touches(key, found))) return found
    } while (performance.now() < end)
    throw unsettled()
  }

  return {
    /** With `forceRefresh` what is kept does not count. Throws 503 where it changes all the time. */
    get: (key: Key, asked: Asked, { forceRefresh = false } = {}) =>
      kept(cache, key, { context: { asked }, forceRefresh }),

    drop(touches: Touches<Found>) {
      for (const changes of underWay) changes.push(touches)
      for (const [key, found] of [...cache.entries()]) if (touches(key, found)) cache.delete(key)
    },
  }
}

/** For answers that say themselves how long they count. */
export const untilItsEnd = ({ valid_until }: { valid_until: string }) =>
  Date.parse(valid_until) - Date.now()
