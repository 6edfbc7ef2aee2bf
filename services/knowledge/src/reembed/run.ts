import { AppError } from '@guildhall/service/errors'
import type { Embedder } from '../clients/embedder.ts'
import type { Deps } from '../deps.ts'
import { oneOfOrg } from './lock.ts'
import { contentsOf, type Outdated, outdatedSources, replaceVectors } from './queries.ts'

const SOURCES_AT_ONCE = 100

interface Counts {
  reembedded: number
  /** Replaced or deleted while its vectors were made. */
  replaced: number
  failed: number
}

/**
 * Gives every source of the org whose vectors another model made new ones, source by source. Cut off, the next attempt goes on
 * with those that are left. All the while searches find each source: by its words, and by meaning once it has its new vectors.
 */
export function reembedOrg(deps: Deps, orgId: number, signal: AbortSignal): Promise<Counts> {
  const { db, embedderOf } = deps
  const counts: Counts = { reembedded: 0, replaced: 0, failed: 0 }
  return oneOfOrg(db, orgId, signal, async () => {
    for await (const { source, embedder } of outdated({ db, embedderOf }, orgId)) {
      signal.throwIfAborted()
      counts[await reembedSource(deps, embedder, source)]++
    }
    return counts
  })
}

/** The sources to do, each once for the embedder that the org has by then. */
async function* outdated({ db, embedderOf }: Pick<Deps, 'db' | 'embedderOf'>, orgId: number) {
  let last: { id: string; model: string } | undefined
  for (;;) {
    const embedder = await embedderOf(orgId)
    if (!embedder) throw noEmbedder()
    const { model } = embedder
    const after = last?.model === model ? last.id : undefined // the org may have set another meanwhile
    const page = { after, limit: SOURCES_AT_ONCE }
    const sources = await outdatedSources(db, { org_id: orgId, model }, page)
    for (const source of sources) yield { source, embedder }
    const end = sources.at(-1)
    if (!end) return
    last = { id: end.id, model }
  }
}

/** Never throws for what concerns this source alone: the log says why, and the others go on. */
async function reembedSource(
  { db, indexer, log }: Deps,
  embedder: Embedder,
  source: Outdated,
): Promise<keyof Counts> {
  try {
    const chunks = await contentsOf(db, source.version_id)
    const made = await embedder.passages(chunks.map(({ content }) => content))
    const vectors = chunks.flatMap(({ id }, n) => (made[n] ? [{ id, vector: made[n] }] : []))
    const stored = await db
      .transaction()
      .execute((trx) => replaceVectors(trx, source, { model: embedder.model, vectors }))
    if (!stored) return 'replaced'
    await indexer.settle(source.id)
    return 'reembedded'
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    log.warn({ err: error, source_key: source.key }, 'A source keeps its old vectors for now')
    return 'failed'
  }
}

export const noEmbedder = () =>
  new AppError(
    'unavailable',
    'embeddings.unset',
    "No embedder is set up: set embeddings_url under the org's integrations, or have the operator set EMBEDDINGS_URL",
  )
