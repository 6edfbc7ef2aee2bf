import type { LRUCache } from 'lru-cache'
import { AppError } from './errors.ts'

/** Milliseconds after which what changes again and again while it is read is no longer read anew. */
export const PATIENCE_MS = 5_000

/**
 * What the cache keeps for `key`, else what its `fetchMethod` gives; many who ask at once share one fetch.
 * With `forceRefresh` what it keeps does not count, but a fetch under way does.
 * A fetch that was dropped on the way, because its key was deleted or pushed out, is made again, for 5 s.
 */
export async function kept<K extends {}, V extends {}, C>(
  cache: LRUCache<K, V, C>,
  key: K,
  options?: { context?: C; forceRefresh?: boolean },
  patienceMs = PATIENCE_MS, // tests wait less
): Promise<V> {
  const found = options?.forceRefresh ? undefined : cache.get(key)
  if (found !== undefined) return found
  const end = performance.now() + patienceMs
  do {
    const fetched = await cache.forceFetch(key, options as never).catch(undefinedIfDropped)
    if (fetched !== undefined) return fetched
  } while (performance.now() < end)
  throw unsettled()
}

/** The reasons that lru-cache gives a fetch that it dropped. */
const DROPPED = ['deleted', 'evicted', 'replaced']

function undefinedIfDropped(error: Error) {
  if (!DROPPED.includes(error.message)) throw error
  return undefined
}

/** What is told to whoever asks for something that does not hold still. */
export const unsettled = () =>
  new AppError(
    'unavailable',
    'cache.unsettled',
    'This is being changed faster than it can be read; try again',
    { retryAfter: 1 },
  )
