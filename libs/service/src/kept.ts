import type { LRUCache } from 'lru-cache'

/**
 * What the cache keeps for `key`, else what its `fetchMethod` gives; many who ask at once share one fetch.
 * With `forceRefresh` what it keeps does not count, but a fetch under way does.
 * A fetch that was dropped on the way, because its key was deleted or pushed out, is made once more.
 */
export async function kept<K extends {}, V extends {}, C>(
  cache: LRUCache<K, V, C>,
  key: K,
  options?: { context?: C; forceRefresh?: boolean },
): Promise<V> {
  const found = options?.forceRefresh ? undefined : cache.get(key)
  if (found !== undefined) return found
  const fetch = () => cache.forceFetch(key, options as never) as Promise<V>
  return fetch().catch((error: Error) => {
    if (!DROPPED.includes(error.message)) throw error
    return fetch()
  })
}

/** The reasons that lru-cache gives a fetch that it dropped. */
const DROPPED = ['deleted', 'evicted', 'replaced']
