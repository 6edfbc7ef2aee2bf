import { queueJob } from '@guildhall/bus/jobs'
import { reembed } from '@guildhall/contracts/knowledge-settings'
import { AppError } from '@guildhall/service/errors'
import type { z } from 'zod'
import type { Embedder } from '../clients/embedder.ts'
import type { Deps } from '../deps.ts'
import { oneOfOrg } from './lock.ts'
import { contentsOf, type Outdated, outdatedSources, replaceVectors } from './queries.ts'

const SOURCES_AT_ONCE = 100
/** After so long other orgs have their turn, and the rest of this one's sources comes after them. */
const TURN_MS = 5 * 60_000
/** After so many failures in a row the embedder is asked whether it works at all: each may have cost three tries of 30 s. */
const FAILURES_IN_A_ROW = 3
const ANY_TEXT = 'text'

type Asked = z.output<typeof reembed.args>
type Counts = Record<'reembedded' | 'replaced' | 'failed', number>

interface Result extends Counts {
  /** Why the first of them failed. */
  reason?: string
  /** The run that does the rest. */
  continued_by?: string
  /** Another run of the org is under way and does all there is to do. */
  joined?: true
}

/**
 * Gives every source of the org whose vectors another model made new ones, source by source. Cut off, the next attempt goes on
 * with those that are left. All the while searches find each source: by its words, and by meaning once it has its new vectors.
 * Throws AppError('upstream', 'reembed.failed') where none got any, or the embedder does not work.
 */
export async function reembedOrg(deps: Deps, asked: Asked, signal: AbortSignal): Promise<Result> {
  const result = await oneOfOrg(deps.db, asked.org_id, signal, () => turnOf(deps, asked, signal))
  return result ?? { reembedded: 0, replaced: 0, failed: 0, joined: true }
}

async function turnOf(deps: Deps, asked: Asked, signal: AbortSignal): Promise<Result> {
  const end = deps.now().getTime() + TURN_MS
  const counts: Counts = { reembedded: 0, replaced: 0, failed: 0 }
  let first: AppError | undefined
  let inARow = 0
  for await (const { source, embedder } of outdated(deps, asked)) {
    signal.throwIfAborted()
    const { as, error } = await reembedSource(deps, embedder, source)
    counts[as]++
    first ??= error
    inARow = error ? inARow + 1 : 0
    if (first && inARow > 0 && inARow % FAILURES_IN_A_ROW === 0 && !(await works(embedder)))
      throw failed(counts, first)
    if (deps.now().getTime() >= end) {
      const after = { model: embedder.model, after: source.id }
      const continued_by = await queueRest(deps, { org_id: asked.org_id, ...after })
      return { ...counts, ...(first && { reason: first.message }), continued_by }
    }
  }
  if (!first) return counts
  if (counts.reembedded === 0) throw failed(counts, first)
  return { ...counts, reason: first.message }
}

const queueRest = ({ db }: Deps, rest: Asked) =>
  db.transaction().execute((trx) => queueJob(trx, reembed, rest))

/** Whether the embedder takes any text: then what it refused is a matter of those sources alone. */
async function works(embedder: Embedder): Promise<boolean> {
  try {
    await embedder.passages([ANY_TEXT])
    return true
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return false
  }
}

/** The sources to do, each once for the embedder that the org has by then. */
async function* outdated({ db, embedderOf }: Pick<Deps, 'db' | 'embedderOf'>, asked: Asked) {
  const { org_id } = asked
  let last = { id: asked.after, model: asked.model }
  for (;;) {
    const embedder = await embedderOf(org_id)
    if (!embedder) throw noEmbedder()
    const { model } = embedder
    const after = last.model === model ? last.id : undefined // the org may have set another meanwhile
    const page = { after, limit: SOURCES_AT_ONCE }
    const sources = await outdatedSources(db, { org_id, model }, page)
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

const failed = ({ reembedded, failed: count }: Counts, first: AppError) =>
  new AppError(
    'upstream',
    'reembed.failed',
    `${told(reembedded, count)}; they keep the old ones and are found by their words. The first failed for this reason: ${first.message}`,
    { cause: first },
  )

const told = (reembedded: number, count: number) =>
  reembedded === 0
    ? `None of the ${count} sources that were to get new vectors and were not replaced meanwhile got them`
    : `The embedder stopped to work: ${reembedded} sources got new vectors, ${count} and all after them did not`

export const noEmbedder = () =>
  new AppError(
    'unavailable',
    'embeddings.unset',
    "No embedder is set up: set embeddings_url under the org's integrations, or have the operator set EMBEDDINGS_URL",
  )
