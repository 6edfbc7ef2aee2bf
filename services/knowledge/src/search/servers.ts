import { SettingsError } from '@guildhall/service/config'
import { AppError } from '@guildhall/service/errors'
import type { PassageIndex } from './index.ts'
import { dropMeili, openMeili } from './meili.ts'
import { dropQdrant, openQdrant } from './qdrant.ts'

interface Server {
  url: string
  apiKey?: string | undefined
}

export interface ServersOptions {
  meili: Server
  qdrant: Server
  /** Of the index and of the collection. */
  name: string
}

/**
 * The index in two servers: words in Meilisearch, vectors in Qdrant. Several processes may use it at once.
 * A row counts as written or removed when both servers say so; either may then fail, and the whole is repeated.
 */
export async function openServers({ meili, qdrant, name }: ServersOptions): Promise<PassageIndex> {
  const working = new Set<Promise<unknown>>()
  let closed = false
  const servers = await answered(async () => ({
    words: await openMeili({ ...meili, name }),
    vectors: await openQdrant({ ...qdrant, name }),
  }))
  const { words, vectors } = servers
  const run = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (closed)
      throw new AppError('unavailable', 'search_index.closed', 'The search index is closed')
    const running = answered(work)
    working.add(running)
    return running.finally(() => working.delete(running))
  }
  return {
    created: await answered(() => lacksRows(servers)),
    async write(rows) {
      if (rows.length > 0) await run(() => both(words.write(rows), vectors.write(rows)))
    },
    async remove(org, versions) {
      if (versions.length === 0) return
      await run(() => both(words.remove(org, versions), vectors.remove(org, versions)))
    },
    searchText: (query) => run(() => words.search(query)),
    searchVector: (query) => run(() => vectors.search(query)),
    /** The servers look after themselves. */
    async upkeep() {},
    async close() {
      closed = true
      await Promise.allSettled(working)
    },
  }
}

/** Deletes the index and the collection, if they are there. */
export async function dropServers({ meili, qdrant, name }: ServersOptions): Promise<void> {
  await answered(() => both(dropMeili({ ...meili, name }), dropQdrant({ ...qdrant, name })))
}

/** One of the two servers has lost its rows, or both have none. */
async function lacksRows({
  words,
  vectors,
}: {
  words: Awaited<ReturnType<typeof openMeili>>
  vectors: Awaited<ReturnType<typeof openQdrant>>
}): Promise<boolean> {
  const without = await words.emptiness()
  return without.rows || (!without.embedded && (await vectors.isEmpty()))
}

/** Waits for both even if one fails, so that nothing goes on behind the caller's back. */
async function both(one: Promise<void>, other: Promise<void>): Promise<void> {
  const ends = await Promise.allSettled([one, other])
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}

/** Callers are told neither addresses nor what the servers say: that is the cause, for the log. */
async function answered<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof AppError || cause instanceof SettingsError) throw cause
    throw new AppError(
      'unavailable',
      'search_index.unreadable',
      'The search index cannot be used at the moment; the log of knowledge says why',
      { cause },
    )
  }
}
