import { AppError, isDatabaseAway } from '@guildhall/service/errors'
import type { Writer } from '../db.ts'
import type { Deps } from '../deps.ts'
import { noteRun } from '../runs/queries.ts'
import { settingsOf } from '../settings/effective.ts'
import { hashOf } from '../sources/rules.ts'
import { type Draft, writeSource } from '../sources/write.ts'
import {
  type Crawling,
  fine,
  type Outcome,
  restOrFail,
  runOf,
  unchanged,
  type Wanted,
} from './endings.ts'
import { MAX_REDIRECTS } from './fetch.ts'
import { fetchPage, type Page, type PageNeeds } from './fetch-page.ts'
import { endLease, keepLease, takeLease } from './leases.ts'
import { cutPage, readPage } from './page.ts'
import { rendererOf } from './renderer.ts'
import { checkShrinking, hashOfPage } from './rules.ts'

const BY: Writer = { source: 'job', actor_kind: 'job', actor_id: 'knowledge.crawl_source' }

/** Of a crawl from its lease to its end: fetching, reading and embedding, without the gaps between requests to a host. */
const CRAWL_MS = 5 * 60_000
/** Each may wait for one gap: the page, its redirects, and a robots.txt for each of these. */
const MOST_REQUESTS = 2 * (1 + MAX_REDIRECTS)

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
  const late = AbortSignal.timeout(deadlineOf(deps))
  const signal = AbortSignal.any([stop, kept.signal, late])
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
    return restOrFail(deps, crawling, late.aborted ? tooLong(deadlineOf(deps), error) : error)
  }
}

const deadlineOf = ({ config, pages }: Deps & { pages: PageNeeds }) =>
  pages.bounds.crawlMs ?? CRAWL_MS + MOST_REQUESTS * config.KNOWLEDGE_CRAWL_GAP_SECONDS * 1000

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
  const { lease, org, force, signal } = crawling
  const { title, text, page_hash, validators } = read
  const settings = await settingsOf(deps, org.id)
  const { chunk_chars: chunkChars, chunk_overlap: chunkOverlap } = settings
  const cuts = await cutPage(deps.extractor, org.id, { text, chunkChars, chunkOverlap, title })
  const passages = cuts.map((cut, ordinal) => ({ ordinal, level: 0, parent_ordinal: null, ...cut }))
  const { key, category, url } = lease
  const labels = { category, title, url, public: lease.public }
  const content_hash = hashOf({ chunks: passages })
  const draft: Draft = {
    ...labels,
    key,
    content_hash,
    passages,
    vectors: null,
    anew: force,
    signal,
  }
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

const LOST = ['crawl.lost', 'source.deleted']
const isLost = (error: unknown) => error instanceof AppError && LOST.includes(error.code)
const lost = () =>
  new AppError('conflict', 'crawl.lost', 'The crawl was changed or deleted meanwhile')
const tooLong = (ms: number, cause: unknown) =>
  new AppError(
    'upstream',
    'crawl.too_long',
    `Reading the page and making its vectors took longer than ${Math.round(ms / 1000)} seconds. It is tried again later; if that goes on, take a shorter page.`,
    { cause },
  )
