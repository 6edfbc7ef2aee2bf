import { audit, enqueue } from '@guildhall/bus/outbox'
import { sourceDeleted } from '@guildhall/contracts/knowledge'
import type { OrgRef } from '@guildhall/contracts/route'
import type { Orgs } from '../clients/orgs.ts'
import { cutPage } from '../crawls/page.ts'
import { definitionOf } from '../crawls/queries.ts'
import { checkShrinking, hashOfPage } from '../crawls/rules.ts'
import type { Labels, Tables, Writer } from '../db.ts'
import type { Deps } from '../deps.ts'
import { settingsOf } from '../settings/effective.ts'
import { deleteSourceRows, hasComing, sourceByKey } from '../sources/queries.ts'
import { hashOf } from '../sources/rules.ts'
import { type Draft, type Under, writeSource } from '../sources/write.ts'
import { oldestBeyond, pageWithUrl } from './queries.ts'
import { dropResult, resultById } from './results.ts'
import { livePrefix, pagePrefix } from './rules.ts'

const BY: Writer = { source: 'job', actor_kind: 'job', actor_id: 'packs.index_result' }
/** Of one pack in one org: whoever asks for other words again and again pushes out the oldest answers. */
const MOST_LIVE_SOURCES = 500

type Row = Tables['pack_results']
/** `shrunk`: the page has much more text, so what was read is probably broken. */
type Outcome = 'changed' | 'unchanged' | 'shrunk' | 'gone'

/**
 * Makes what a query answered a source: the crawled page of the pack that has its address, else one of its own. Nothing is written
 * where the text is what searches find already.
 */
export async function indexResult(
  deps: Deps & { orgOf: Orgs },
  id: string,
): Promise<{ outcome: Outcome; key?: string }> {
  const row = await resultById(deps.db, id)
  if (!row) return { outcome: 'gone' } // overtaken by a later answer, which has a job of its own
  const org = await deps.orgOf(row.org_id)
  if (!org) {
    await dropResult(deps.db, id)
    return { outcome: 'gone' }
  }
  const { url } = row
  const page = url && (await pageWithUrl(deps.db, org.id, { prefix: pagePrefix(row.pack), url }))
  const key = page || row.source_key
  const outcome = await write(deps, org, { row, key })
  await dropResult(deps.db, id)
  if (!page && outcome === 'changed') await dropOldest(deps, org, row.pack)
  return { outcome, key }
}

async function write(
  deps: Deps,
  org: OrgRef,
  { row, key }: { row: Row; key: string },
): Promise<Outcome> {
  const there = await sourceByKey(deps.db, org.id, key)
  const crawled = there?.crawl ? await definitionOf(deps.db, there.id) : undefined
  const title = crawled?.title ?? row.title
  const labels: Labels = crawled
    ? { category: crawled.category, url: crawled.url, public: crawled.public, title }
    : { category: row.category, url: row.url, public: false, title }
  const settings = await settingsOf(deps, org.id)
  const { chunk_chars: chunkChars, chunk_overlap: chunkOverlap } = settings
  const cutting = { text: row.text, chunkChars, chunkOverlap, title }
  const cuts = await cutPage(deps.extractor, org.id, cutting)
  const passages = cuts.map((cut, ordinal) => ({ ordinal, level: 0, parent_ordinal: null, ...cut }))
  const content_hash = hashOf({ chunks: passages })
  if (there?.version?.content_hash === content_hash && !(await hasComing(deps.db, there.id)))
    return 'unchanged'
  const draft: Draft = { ...labels, key, content_hash, passages, vectors: null }
  const read = { page_hash: hashOfPage({ title, text: row.text }), page_chars: row.text.length }
  return writeSource(deps, org, draft, BY, noteRead(read)).then(() => 'changed', outcomeOf)
}

/** The next crawl compares its page with what was read here. Throws `crawl.shrunk`, as a crawl would. */
const noteRead =
  (read: { page_hash: string; page_chars: number }): Under =>
  async (trx, sourceId) => {
    const crawl = await trx
      .selectFrom('crawls')
      .select('page_chars')
      .where('source_id', '=', sourceId)
      .executeTakeFirst()
    checkShrinking(crawl?.page_chars ?? null, read.page_chars)
    await trx
      .updateTable('crawls')
      .set({ ...read, etag: null, last_modified: null, fetched_url: null })
      .where('source_id', '=', sourceId)
      .execute()
  }

/** A version that is stored is indexed by the job of that. */
function outcomeOf(error: unknown): Outcome {
  const { code } = error as { code?: unknown }
  if (code === 'source.indexing_later') return 'changed'
  if (code === 'crawl.shrunk') return 'shrunk'
  throw error
}

async function dropOldest({ db, indexer }: Deps, org: OrgRef, pack: string) {
  const found = { prefix: livePrefix(pack), most: MOST_LIVE_SOURCES }
  for (const key of await oldestBeyond(db, org.id, found)) {
    const id = await db.transaction().execute(async (trx) => {
      const gone = await deleteSourceRows(trx, org.id, key)
      if (gone) await enqueue(trx, audit(sourceDeleted, BY, org, { key }))
      return gone
    })
    if (id) await indexer.settle(id)
  }
}
