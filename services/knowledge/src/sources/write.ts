import { audit, enqueue } from '@guildhall/bus/outbox'
import { type Source, sourceWritten } from '@guildhall/contracts/knowledge'
import type { OrgRef } from '@guildhall/contracts/route'
import { AppError } from '@guildhall/service/errors'
import type { Embedder } from '../clients/embedder.ts'
import type { Labels, Trx, Writer } from '../db.ts'
import type { Deps } from '../deps.ts'
import {
  dropVersion,
  ensureSource,
  insertVersion,
  isCrawled,
  lockSource,
  type NewPassage,
  relabel,
  sourceByKey,
} from './queries.ts'

/** The indexing job runs each minute. */
const RETRY_SECONDS = 60

export interface Draft extends Labels {
  key: string
  content_hash: string
  /** In the order of their ordinals. */
  passages: Omit<NewPassage, 'vector'>[]
  /** Those that the writer brought along. */
  vectors: { model: string; of: Float32Array[] } | null
  /** A new version is made even of the same content. */
  anew?: boolean
  /** Ends the wait for the embedder: then nothing is written. */
  signal?: AbortSignal
}

/** Runs in the transaction under the source's lock, and may refuse the writing by throwing. */
export type Under = (trx: Trx, sourceId: string, changed: boolean) => Promise<void>

interface Prepared {
  embedding_model: string | null
  /** The writer brought them along. */
  own_vectors: boolean
  passages: NewPassage[]
}

/**
 * Writes a whole source: its content if the hash is not that of the current version, else only its labels.
 * Resolves once searches find it. The last who comes to the source's lock is the one whose writing stays.
 * Throws `embeddings.…` with nothing written (`.unknown` while auth cannot say which embedder the org has), and `source.indexing_later` with all written but not yet found.
 */
export async function writeSource(
  deps: Deps,
  org: OrgRef,
  draft: Draft,
  by: Writer,
  under: Under = refuseCrawled,
): Promise<{ source: Source; changed: boolean }> {
  const { db, indexer, log } = deps
  const there = await sourceByKey(db, org.id, draft.key)
  const same = !draft.anew && there?.version?.content_hash === draft.content_hash
  const prepared = same ? undefined : await prepare(deps, org, draft)
  const stored = await db
    .transaction()
    .execute((trx) => store(trx, { org, draft, prepared, by, under, now: deps.now() }))
  if (!stored) return writeSource(deps, org, draft, by, under) // replaced or deleted since we looked
  try {
    await indexer.settle(stored.id)
  } catch (cause) {
    const about = { org: org.id, source_id: stored.id } // a job crawls for many orgs
    log.error({ err: cause, ...about }, 'A source was stored and cannot be indexed yet')
    throw indexingLater(cause)
  }
  const source = await sourceByKey(db, org.id, draft.key)
  if (!source) throw deletedMeanwhile()
  return { source, changed: stored.changed }
}

/** Makes the embeddings, outside any transaction. */
async function prepare({ embedderOf }: Deps, org: OrgRef, draft: Draft): Promise<Prepared> {
  const { model, of } = draft.vectors ?? (await made(await embedderOf(org.id), draft))
  return {
    embedding_model: model,
    own_vectors: draft.vectors !== null,
    passages: draft.passages.map((passage, n) => ({ ...passage, vector: of[n] ?? null })),
  }
}

async function made(embedder: Embedder | undefined, { passages, signal }: Draft) {
  if (!embedder) return { model: null, of: [] }
  const contents = passages.map(({ content }) => content)
  return { model: embedder.model, of: await embedder.passages(contents, signal) }
}

interface Storing {
  org: OrgRef
  draft: Draft
  prepared: Prepared | undefined
  by: Writer
  under: Under
  now: Date
}

/** Under the source's lock. Nothing where new content is to be stored and was not prepared. */
async function store(trx: Trx, { org, draft, prepared, by, under, now }: Storing) {
  if (prepared) await ensureSource(trx, org.id, draft, now)
  const source = await lockSource(trx, org.id, draft.key)
  if (!source) return undefined
  const { category, title, url, content_hash } = draft
  const labels = { category, title, url, public: draft.public }
  const equal = !draft.anew && source.version?.content_hash === content_hash
  const same = equal ? source.version : undefined
  if (!same && !prepared) return undefined
  await under(trx, source.id, !same)

  // a version still to be indexed is overtaken by this writing
  const overtaken = await dropVersion(trx, source, 'indexing')
  if (overtaken) {
    const said = { key: draft.key, chunks: overtaken.chunk_count, changed: true }
    await enqueue(trx, audit(sourceWritten, overtaken.written_by, org, said))
  }
  if (same) {
    await relabel(trx, source.id, labels, now)
    const said = { key: draft.key, chunks: same.chunk_count, changed: false }
    await enqueue(trx, audit(sourceWritten, by, org, said))
    return { id: source.id, changed: false }
  }
  const { passages = [], embedding_model = null, own_vectors = false } = prepared ?? {}
  const vectors = { embedding_model, own_vectors }
  const written = { source_id: source.id, content_hash, ...vectors, written_by: by }
  await insertVersion(trx, { ...labels, ...written, fetched_at: now }, passages)
  return { id: source.id, changed: true }
}

/** What a crawl wrote, only crawls write. */
const refuseCrawled: Under = async (trx, sourceId) => {
  if (!(await isCrawled(trx, sourceId))) return
  throw new AppError(
    'conflict',
    'source.crawled',
    'This source is crawled from the web, and its next crawl would replace what is written here. Use another key, or delete the source first.',
  )
}

const indexingLater = (cause: unknown) =>
  new AppError(
    'unavailable',
    'source.indexing_later',
    'The source is stored, but the search index cannot be written at the moment. Indexing will finish by itself, within minutes of the index working again; until then searches find what they found before.',
    { cause, retryAfter: RETRY_SECONDS },
  )

const deletedMeanwhile = () =>
  new AppError(
    'conflict',
    'source.deleted',
    'Somebody deleted the source while it was being written',
  )
