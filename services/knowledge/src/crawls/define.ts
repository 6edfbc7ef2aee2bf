import { audit, enqueue } from '@guildhall/bus/outbox'
import type { Caller } from '@guildhall/contracts/caller'
import { sourceWritten } from '@guildhall/contracts/knowledge'
import { type CrawlDefinition, crawlWritten } from '@guildhall/contracts/knowledge-crawls'
import type { OrgRef } from '@guildhall/contracts/route'
import { AppError } from '@guildhall/service/errors'
import type { Labels, Trx } from '../db.ts'
import type { Deps } from '../deps.ts'
import { dropVersion, ensureSource, lockSource, relabel } from '../sources/queries.ts'
import { definitionOf, insertCrawl, updateCrawl } from './queries.ts'
import { type Defined, difference, dueAfter } from './rules.ts'

const MOST_TITLE_CHARS = 500

interface Defining {
  org: OrgRef
  caller: Caller
  key: string
  definition: CrawlDefinition
}

/**
 * Makes or changes a crawl, and answers whether it made one. The same definition again writes nothing.
 * Throws AppError('conflict', 'crawl.other_source') where the key is of a source that is not crawled.
 */
export async function define(
  { db, now, indexer, log }: Deps,
  { org, caller, key, definition }: Defining,
): Promise<boolean> {
  const { title = null, ...rest } = definition
  const done = await db.transaction().execute(async (trx) => {
    const defined = await defineIn(trx, { org, key, wanted: { ...rest, title }, now: now() })
    if (defined.did !== 'nothing') await enqueue(trx, audit(crawlWritten, caller, org, { key }))
    return defined
  })
  if (done.did === 'changed')
    await indexer
      .settle(done.id)
      .catch((error) => log.warn({ err: error }, 'Labels of a source reach the index later'))
  return done.did === 'made'
}

interface DefiningIn {
  org: OrgRef
  key: string
  wanted: Defined
  now: Date
}

/** As `define`, in the caller's transaction, whose audit line it is. Of what it changed the caller has the index settled after it. */
export async function defineIn(
  trx: Trx,
  { org, key, wanted, now }: DefiningIn,
): Promise<{ id: string; did: 'made' | 'changed' | 'nothing' }> {
  const source = await lockOrMake(trx, org, key, wanted, now)
  const { id } = source
  if (source.made) {
    await insertCrawl(trx, id, wanted, now)
    return { id, did: 'made' }
  }
  return { id, did: (await change(trx, source, wanted, { org, key, now })) ? 'changed' : 'nothing' }
}

type Source = NonNullable<Awaited<ReturnType<typeof lockSource>>> & { made: boolean }

async function lockOrMake(
  trx: Trx,
  org: OrgRef,
  key: string,
  wanted: Defined,
  now: Date,
): Promise<Source> {
  const title = wanted.title ?? wanted.url.slice(0, MOST_TITLE_CHARS)
  const { category, url, public: open } = wanted
  const made = await ensureSource(trx, org.id, { key, category, title, url, public: open }, now)
  const source = await lockSource(trx, org.id, key)
  return source ? { ...source, made } : lockOrMake(trx, org, key, wanted, now) // deleted meanwhile
}

/** False where nothing is different. */
async function change(
  trx: Trx,
  source: Source,
  wanted: Defined,
  { org, key, now }: { org: OrgRef; key: string; now: Date },
): Promise<boolean> {
  const before = await definitionOf(trx, source.id)
  if (!before) throw otherSource(key)
  const different = difference(before, wanted)
  if (different === 'none') return false
  // a version still to be indexed has the old labels: it is crawled anew instead
  const overtaken = await dropVersion(trx, source, 'indexing')
  if (overtaken) {
    const said = { key, chunks: overtaken.chunk_count, changed: true }
    await enqueue(trx, audit(sourceWritten, overtaken.written_by, org, said))
  }
  await relabel(trx, source.id, await labelsOf(trx, source.id, wanted), now)
  const anew = different === 'page' || overtaken !== undefined
  const nextAt = (last: Date) => dueAfter(last, 0, wanted.fetch_every_hours)
  await updateCrawl(trx, source.id, wanted, anew ? { anew, now } : { anew, nextAt })
  return true
}

/** The page's own title stays until the next crawl reads it. */
async function labelsOf(trx: Trx, id: string, wanted: Defined): Promise<Labels> {
  const { category, url, public: open } = wanted
  const { title } = await trx
    .selectFrom('sources')
    .select('title')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return { category, url, public: open, title: wanted.title ?? title }
}

const otherSource = (key: string) =>
  new AppError(
    'conflict',
    'crawl.other_source',
    `The source ${key} is one that was written or uploaded, and a crawl would replace it. Use another key, or delete the source first.`,
  )
