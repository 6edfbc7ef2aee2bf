import { sql } from 'kysely'
import type { Db, Trx } from '../db.ts'
import type { Defined } from './rules.ts'

/** What a source's crawl is defined as, if it is crawled. */
export async function definitionOf(db: Db, sourceId: string): Promise<Defined | undefined> {
  return db
    .selectFrom('crawls')
    .innerJoin('sources', 'sources.id', 'source_id')
    .select(['url', 'category', 'public', 'crawls.title', 'fetch_every_hours', 'enabled'])
    .where('source_id', '=', sourceId)
    .executeTakeFirst()
}

/** A new crawl is due at once. */
export async function insertCrawl(trx: Trx, sourceId: string, defined: Defined, now: Date) {
  const { title, fetch_every_hours, enabled } = defined
  const own = { title, fetch_every_hours, enabled, due_at: now }
  const nothing = { page_chars: null, ...FORGOTTEN }
  const never = { last_attempt_at: null, last_error: null, lease_id: null, leased_until: null }
  await trx
    .insertInto('crawls')
    .values({ source_id: sourceId, ...own, ...nothing, ...never })
    .execute()
}

const FORGOTTEN = { page_hash: null, fetched_url: null, etag: null, last_modified: null }

/**
 * Changes the definition; a crawl in hand was of the old one and writes nothing. `anew` makes it due and forgets the page;
 * else `nextAt` says when it is due, counted from the last attempt.
 */
export async function updateCrawl(
  trx: Trx,
  sourceId: string,
  { title, fetch_every_hours, enabled }: Defined,
  due: { anew: true; now: Date } | { anew: false; nextAt(last: Date): Date },
) {
  const row = await trx
    .selectFrom('crawls')
    .select(['last_attempt_at', 'failures', 'due_at', 'leased_until'])
    .where('source_id', '=', sourceId)
    .executeTakeFirstOrThrow()
  const settled = row.failures === 0 && row.leased_until === null ? row.last_attempt_at : null
  const again = due.anew ? due.now : settled ? due.nextAt(settled) : row.due_at
  await trx
    .updateTable('crawls')
    .set({ title, fetch_every_hours, enabled, due_at: again, lease_id: null, leased_until: null })
    .set(due.anew ? { ...FORGOTTEN, failures: 0 } : {})
    .where('source_id', '=', sourceId)
    .execute()
}

/** The id of the org's crawled source of this key. */
export async function crawlByKey(db: Db, orgId: number, key: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('crawls')
    .innerJoin('sources', 'sources.id', 'source_id')
    .select('source_id')
    .where('org_id', '=', orgId)
    .where('key', '=', key)
    .executeTakeFirst()
  return row?.source_id
}

export interface Waiting {
  source_id: string
  org_id: number
  url: string
}

const waiting = (db: Db) =>
  db
    .selectFrom('crawls')
    .innerJoin('sources', 'sources.id', 'source_id')
    .select(['source_id', 'org_id', 'url'])
    .where('enabled', '=', true)

export async function orgsWithDue(db: Db, now: Date): Promise<number[]> {
  const rows = await db
    .selectFrom('crawls')
    .innerJoin('sources', 'sources.id', 'source_id')
    .select('org_id')
    .distinct()
    .where('enabled', '=', true)
    .where('due_at', '<=', now)
    .execute()
  return rows.map(({ org_id }) => org_id)
}

/** Pages of one host in a run: with the longest time and the gap of each they last as long as runs are apart. */
const MOST_PER_HOST = 20
/** The host of a url, but for spellings that only browsers understand: nothing is lost where two are taken for different. */
const HOST = sql`rtrim(lower(substring(url from '^https?:/+(\\[[^]]*\\]|[^/?#:]*)')), '.')`

/** The orgs by turns, each with what was never tried first, then by how long it waits; of one host so many at most. */
export async function dueCrawls(
  db: Db,
  orgs: number[],
  now: Date,
  limit: number,
): Promise<Waiting[]> {
  const { rows } = await sql<Waiting>`
    with due as (
      select source_id, org_id, url, last_attempt_at is not null as tried, due_at, row_number() over (
        partition by org_id order by last_attempt_at is not null, due_at, source_id) as org_turn
      from crawls join sources on sources.id = source_id
      where enabled and due_at <= ${now} and org_id = any(${orgs})
    ), ranked as (
      select *, row_number() over (
        partition by ${HOST} order by org_turn, tried, due_at, source_id) as host_turn
      from due
    )
    select source_id, org_id, url from ranked where host_turn <= ${MOST_PER_HOST}
    order by org_turn, tried, due_at, source_id limit ${limit}`.execute(db)
  return rows
}

/** Enabled crawls of an org that nobody began since, `limit` at a time. */
export async function* crawlsOfOrg(
  db: Db,
  which: { org_id: number; since: Date | undefined },
  limit: number,
): AsyncGenerator<Waiting[]> {
  for (let after: string | undefined; ; ) {
    const found = await someOfOrg(db, which, { after, limit })
    yield found
    after = found.at(-1)?.source_id
    if (found.length < limit) return
  }
}

async function someOfOrg(
  db: Db,
  { org_id, since }: { org_id: number; since: Date | undefined },
  { after, limit }: { after: string | undefined; limit: number },
): Promise<Waiting[]> {
  let query = waiting(db).where('org_id', '=', org_id).orderBy('source_id').limit(limit)
  if (after !== undefined) query = query.where('source_id', '>', after)
  if (since)
    query = query.where((eb) =>
      eb.or([eb('last_attempt_at', 'is', null), eb('last_attempt_at', '<', since)]),
    )
  return query.execute()
}
