import { AppError } from '@guildhall/service/errors'
import type { Embedder } from '../clients/embedder.ts'
import type { Deps } from '../deps.ts'
import { oneOfOrg } from './lock.ts'
import { contentsOf, type Outdated, outdatedSources, replaceVectors } from './queries.ts'

const SOURCES_AT_ONCE = 100

interface Result {
  reembedded: number
  /** Replaced or deleted while its vectors were made. */
  replaced: number
  failed: number
  /** Why the first of them failed. */
  reason?: string
}

/**
 * Gives every source of the org whose vectors another model made new ones, source by source. Cut off, the next attempt goes on
 * with those that are left. All the while searches find each source: by its words, and by meaning once it has its new vectors.
 * Throws AppError('upstream', 'reembed.failed') where none got any.
 */
export function reembedOrg(deps: Deps, orgId: number, signal: AbortSignal): Promise<Result> {
  const { db, embedderOf } = deps
  return oneOfOrg(db, orgId, signal, async () => {
    const counts = { reembedded: 0, replaced: 0, failed: 0 }
    let first: AppError | undefined
    for await (const { source, embedder } of outdated({ db, embedderOf }, orgId)) {
      signal.throwIfAborted()
      const end = await reembedSource(deps, embedder, source)
      first ??= end.error
      counts[end.as]++
    }
    if (!first) return counts
    if (counts.reembedded === 0) throw noneDone(counts.failed, first)
    return { ...counts, reason: first.message }
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
  deps: Deps,
  embedder: Embedder,
  source: Outdated,
): Promise<{ as: 'reembedded' | 'replaced' | 'failed'; error?: AppError }> {
  const { db, log } = deps
  try {
    const chunks = await contentsOf(db, source.version_id)
    const made = await embedder.passages(chunks.map(({ content }) => content))
    const vectors = chunks.flatMap(({ id }, n) => (made[n] ? [{ id, vector: made[n] }] : []))
    const stored = await db
      .transaction()
      .execute((trx) => replaceVectors(trx, source, { model: embedder.model, vectors }))
    if (!stored) return { as: 'replaced' }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    log.warn({ err: error, source_key: source.key }, 'A source keeps its old vectors for now')
    return { as: 'failed', error }
  }
  await settled(deps, source)
  return { as: 'reembedded' }
}

/** The vectors are stored: should the index not take them now, the job of each minute sees to it. */
async function settled({ indexer, log }: Deps, { id, key }: Outdated) {
  try {
    await indexer.settle(id)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    log.warn({ err: error, source_key: key }, 'The new vectors of a source are indexed later')
  }
}

const noneDone = (failed: number, first: AppError) =>
  new AppError(
    'upstream',
    'reembed.failed',
    `None of the ${failed} sources that need new vectors got them; they keep the old ones and are found by their words. The first failed for this reason: ${first.message}`,
    { cause: first },
  )

export const noEmbedder = () =>
  new AppError(
    'unavailable',
    'embeddings.unset',
    "No embedder is set up: set embeddings_url under the org's integrations, or have the operator set EMBEDDINGS_URL",
  )
