import type { OrgRef } from '@guildhall/contracts/route'
import { AppError, isDatabaseAway } from '@guildhall/service/errors'
import type { Tables, Writer } from '../db.ts'
import type { Deps } from '../deps.ts'
import { noteRun } from '../runs/queries.ts'
import { settingsOf } from '../settings/effective.ts'
import { hashOf } from '../sources/rules.ts'
import { type Draft, writeSource } from '../sources/write.ts'
import { fetchPage, type Page, type PageNeeds } from './fetch-page.ts'
import { type Ending, endLease, keepLease, type Lease, takeLease } from './leases.ts'
import { cutPage, readPage } from './page.ts'
import { rendererOf } from './renderer.ts'
import { checkShrinking, dueAfter, hashOfPage, retryAt } from './rules.ts'

const BY: Writer = { source: 'job', actor_kind: 'job', actor_id: 'knowledge.crawl' }

/** How a crawl ended. `not_taken`: another has it, it is gone, or not due any more. `lost`: so it became on the way; nothing was written. */
export type Outcome = 'changed' | 'unchanged' | 'failed' | 'not_taken' | 'lost'

export interface Wanted {
  org: OrgRef
  source_id: string
  force: boolean
  /** Only if it is due by then. */
  dueAt?: Date
}

interface Crawling extends Wanted {
  lease: Lease
  started: number
  started_at: Date
  signal: AbortSignal
}

/** The six steps of interface.md, Crawl steps. Whatever is wrong with the page ends as `failed`, with its reason in `last_error` and the run log. */
export async function crawl(
  deps: Deps & { pages: PageNeeds },
  wanted: Wanted,
  stop: AbortSignal,
): Promise<Outcome> {
  const started_at = deps.now()
  const lease = await takeLease(deps.db, wanted.source_id, started_at, wanted.dueAt)
  if (!lease) return 'not_taken'
  using kept = keepLease(deps.db, lease)
  const signal = AbortSignal.any([stop, kept.signal])
  const crawling = { ...wanted, lease, started_at, started: performance.now(), signal }
  try {
    return await crawlLeased(deps, crawling)
  } catch (error) {
    if (kept.signal.aborted || isLost(error)) return 'lost'
    if (isDatabaseAway(error)) throw error
    if (stop.aborted) {
      await deps.db.transaction().execute((trx) => endLease(trx, lease, {}))
      throw error
    }
    return fail(deps, crawling, error)
  }
}

async function crawlLeased(
  deps: Deps & { pages: PageNeeds },
  crawling: Crawling,
): Promise<Outcome> {
  const { lease, org, force, signal } = crawling
  const renderer = await rendererOf(deps, org.id, lease.url)
  const known = force ? undefined : lease
  const page = await fetchPage(deps.pages, { url: lease.url, known, renderer, signal })
  if (!page) return unchanged(deps, crawling, {})
  const { title: own, text } = await readPage(deps.extractor, org.id, page)
  const title = lease.title ?? own
  const page_hash = hashOfPage({ title, text })
  const { fetched_url, etag, last_modified } = page
  const validators = { fetched_url, etag, last_modified }
  if (page_hash === lease.page_hash && !force) return unchanged(deps, crawling, validators)
  if (!force) checkShrinking(lease.page_chars, text.length)
  return write(deps, crawling, { title, text, page_hash, validators })
}

interface Read {
  title: string
  text: string
  page_hash: string
  validators: Pick<Page, 'fetched_url' | 'etag' | 'last_modified'>
}

async function write(deps: Deps, crawling: Crawling, read: Read): Promise<Outcome> {
  const { lease, org, force } = crawling
  const { title, text, page_hash, validators } = read
  const settings = await settingsOf(deps, org.id)
  const { chunk_chars: chunkChars, chunk_overlap: chunkOverlap } = settings
  const cuts = await cutPage(deps.extractor, org.id, { text, chunkChars, chunkOverlap, title })
  const passages = cuts.map((cut, ordinal) => ({ ordinal, level: 0, parent_ordinal: null, ...cut }))
  const { key, category, url } = lease
  const labels = { category, title, url, public: lease.public }
  const content_hash = hashOf({ chunks: passages })
  const draft: Draft = { ...labels, key, content_hash, passages, vectors: null, anew: force }
  const ending = { ...validators, page_hash, page_chars: text.length }
  let changed = true
  await writeSource(deps, org, draft, BY, async (trx, sourceId, isNew) => {
    const ended =
      sourceId === lease.source_id && (await endLease(trx, lease, fine(deps, lease, ending)))
    if (!ended) throw lost()
    changed = isNew
    await noteRun(trx, runOf(crawling, { changed: isNew, chunks: passages.length, error: null }))
  }).catch(laterIsFine)
  return changed ? 'changed' : 'unchanged'
}

/** A version that is stored is indexed by the job of that. */
function laterIsFine(error: unknown) {
  if (!(error instanceof AppError && error.code === 'source.indexing_later')) throw error
}

const fine = ({ now }: Deps, lease: Lease, ending: Ending): Ending => ({
  ...ending,
  last_error: null,
  failures: 0,
  due_at: dueAfter(now(), 0, lease.fetch_every_hours),
})

function unchanged(deps: Deps, crawling: Crawling, ending: Ending): Promise<Outcome> {
  return deps.db.transaction().execute(async (trx) => {
    if (!(await endLease(trx, crawling.lease, fine(deps, crawling.lease, ending)))) return 'lost'
    const version = await trx
      .selectFrom('versions')
      .select('chunk_count')
      .where('id', '=', crawling.lease.current_version_id)
      .executeTakeFirst()
    const chunks = version?.chunk_count ?? 0
    await noteRun(trx, runOf(crawling, { changed: false, chunks, error: null }))
    return 'unchanged'
  })
}

/** The last chunks stay; the next attempt comes the later the more have failed. */
function fail(deps: Deps, crawling: Crawling, error: unknown): Promise<Outcome> {
  const { lease } = crawling
  const refusal = error instanceof AppError ? error : undefined
  const told = { err: error, source_key: lease.key } // with causes that are no business of officers
  if (refusal) deps.log.info(told, 'A crawl failed')
  else deps.log.error(told, 'A crawl failed by a fault of ours')
  const last_error = refusal?.message ?? 'Internal error; it is tried again'
  const failures = lease.failures + 1
  const due_at = retryAt(deps.now(), failures, lease.fetch_every_hours, refusal?.retryAfter)
  return deps.db.transaction().execute(async (trx) => {
    if (!(await endLease(trx, lease, { last_error, failures, due_at }))) return 'lost'
    await noteRun(trx, runOf(crawling, { changed: false, chunks: 0, error: last_error }))
    return 'failed'
  })
}

function runOf(
  { lease, org, started, started_at }: Crawling,
  ended: Pick<Tables['runs'], 'changed' | 'chunks' | 'error'>,
) {
  const duration_ms = Math.round(performance.now() - started)
  const run = { org_id: org.id, source_key: lease.key, kind: 'crawl' as const }
  return { ...run, started_at, duration_ms, ...ended }
}

const LOST = ['crawl.lost', 'source.deleted']
const isLost = (error: unknown) => error instanceof AppError && LOST.includes(error.code)
const lost = () =>
  new AppError('conflict', 'crawl.lost', 'The crawl was changed or deleted meanwhile')
