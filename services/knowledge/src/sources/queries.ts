import type { Source } from '@guildhall/contracts/knowledge'
import { newId } from '@guildhall/service/id'
import { sql } from 'kysely'
import type { Db, Labels, Tables, Trx, Writer } from '../db.ts'

/** Up to `limit` sources whose keys come after `before`. */
export async function sourcesOfOrg(
  db: Db,
  { org_id, category }: { org_id: number; category: string | undefined },
  { before, limit }: { before: string | undefined; limit: number },
): Promise<Source[]> {
  let query = withVersion(db).where('org_id', '=', org_id).orderBy('key').limit(limit)
  if (category !== undefined) query = query.where('sources.category', '=', category)
  if (before !== undefined) query = query.where('key', '>', before)
  return (await query.execute()).map(shown)
}

export async function sourceByKey(db: Db, orgId: number, key: string): Promise<Source | undefined> {
  const row = await withVersion(db)
    .where('org_id', '=', orgId)
    .where('key', '=', key)
    .executeTakeFirst()
  return row && shown(row)
}

const withVersion = (db: Db) =>
  db
    .selectFrom('sources')
    .leftJoin('versions', 'versions.id', 'sources.current_version_id')
    .leftJoin('crawls', 'crawls.source_id', 'sources.id')
    .select(['sources.id', 'key', 'sources.category', 'sources.title', 'sources.url'])
    .select(['sources.public', 'updated_at', 'versions.id as version_id', 'content_hash'])
    .select(['embedding_model', 'chunk_count', 'text_chars', 'fetched_at'])
    .select(['fetch_every_hours', 'enabled', 'last_attempt_at', 'last_error', 'due_at'])

type Row = Awaited<ReturnType<ReturnType<typeof withVersion>['execute']>>[0]

function shown(row: Row): Source {
  const { id, key, category, title, url, updated_at } = row
  const labels = { category, title, url, public: row.public }
  const times = { crawl: shownCrawl(row), updated_at: updated_at.toISOString() }
  return { id, key, ...labels, version: shownVersion(row), ...times }
}

function shownVersion(row: Row): Source['version'] {
  const { version_id: id, content_hash, embedding_model, chunk_count, text_chars } = row
  if (id === null || content_hash === null || !row.fetched_at) return null
  return {
    id,
    content_hash,
    embedding_model,
    chunk_count: chunk_count ?? 0,
    text_chars: text_chars ?? 0,
    fetched_at: row.fetched_at.toISOString(),
  }
}

function shownCrawl(row: Row): Source['crawl'] {
  const { fetch_every_hours, enabled, last_attempt_at, last_error, due_at } = row
  if (fetch_every_hours === null || enabled === null) return null
  return {
    fetch_every_hours,
    enabled,
    last_attempt_at: last_attempt_at?.toISOString() ?? null,
    last_error,
    due_at: (enabled && due_at?.toISOString()) || null,
  }
}

/** True if a version of the source is stored and still to be indexed: it will take the place of the current one. */
export async function hasComing(db: Db, sourceId: string): Promise<boolean> {
  const row = await db
    .selectFrom('versions')
    .select('id')
    .where('source_id', '=', sourceId)
    .where('state', '=', 'indexing')
    .executeTakeFirst()
  return row !== undefined
}

/** Makes the source unless it is there, and says whether it did; without a version nobody finds it. */
export async function ensureSource(
  trx: Trx,
  org_id: number,
  source: Labels & { key: string },
  now: Date,
): Promise<boolean> {
  const { key, category, title, url, public: open } = source
  const row = { id: newId(), org_id, key, category, title, url, public: open, updated_at: now }
  const made = await trx
    .insertInto('sources')
    .values({ ...row, current_version_id: null })
    .onConflict((on) => on.constraint('sources_key').doNothing())
    .returning('id')
    .executeTakeFirst()
  return made !== undefined
}

/** The source under its lock, which orders all who write it, and what its current version is. */
export async function lockSource(trx: Trx, orgId: number, key: string) {
  const source = await trx
    .selectFrom('sources')
    .select(['id', 'org_id', 'current_version_id'])
    .where('org_id', '=', orgId)
    .where('key', '=', key)
    .forUpdate()
    .executeTakeFirst()
  if (!source) return undefined
  // a statement of its own: a join would show the version as it was before the lock was waited for
  const version = await trx
    .selectFrom('versions')
    .select(['content_hash', 'chunk_count'])
    .where('id', '=', source.current_version_id)
    .executeTakeFirst()
  return { id: source.id, org_id: source.org_id, version }
}

/** Changes the labels. Those that the index filters by are then written there again. */
export async function relabel(trx: Trx, id: string, labels: Labels, now: Date) {
  const { category, public: open } = labels
  await trx
    .updateTable('sources')
    .set({
      ...labels,
      updated_at: now,
      index_stale: sql<boolean>`index_stale or (
        current_version_id is not null and (category <> ${category} or public <> ${open}))`,
    })
    .where('id', '=', id)
    .execute()
}

export interface NewPassage {
  ordinal: number
  level: number
  parent_ordinal: number | null
  content: string
  /** Code points before what is the passage's own: its title line, and what it repeats of the passage before. */
  repeated?: number
  vector: Float32Array | null
}

/** Rows of one insert: 9 parameters each, of the 65 535 that Postgres takes. */
const ROWS_AT_ONCE = 500

/** Inserts a version that is still to be indexed. */
export async function insertVersion(
  trx: Trx,
  version: Labels & {
    source_id: string
    content_hash: string
    embedding_model: string | null
    own_vectors: boolean
    fetched_at: Date
    written_by: Writer
  },
  passages: readonly NewPassage[],
) {
  const version_id = newId()
  const pageText = passages.filter(({ level }) => level === 0)
  const places = new Map(pageText.map(({ ordinal }, place) => [ordinal, place]))
  await trx
    .insertInto('versions')
    .values({
      ...version,
      id: version_id,
      state: 'indexing',
      chunk_count: passages.length,
      text_chars: pageText.reduce((sum, { content }) => sum + content.length, 0),
      written_by: JSON.stringify(version.written_by),
    })
    .execute()
  const rows = passages.map(({ vector, ...passage }) => ({
    id: newId(),
    version_id,
    ...passage,
    place: places.get(passage.ordinal) ?? null,
    embedding: vector && Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength),
  }))
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
    await trx
      .insertInto('chunks')
      .values(rows.slice(at, at + ROWS_AT_ONCE))
      .execute()
  }
}

/** Deletes the source's version of this state, if any, and notes that the index still holds it. */
export async function dropVersion(
  trx: Trx,
  source: { id: string; org_id: number },
  state: Tables['versions']['state'],
) {
  const gone = await trx
    .deleteFrom('versions')
    .where('source_id', '=', source.id)
    .where('state', '=', state)
    .returning(['id', 'chunk_count', 'written_by'])
    .executeTakeFirst()
  if (gone) await noteRemoved(trx, source, [gone.id])
  return gone
}

/** Deletes a source with all it has, and answers its id if there was one. */
export async function deleteSourceRows(
  trx: Trx,
  orgId: number,
  key: string,
): Promise<string | undefined> {
  const source = await lockSource(trx, orgId, key)
  if (!source) return undefined
  const versions = await trx
    .selectFrom('versions')
    .select('id')
    .where('source_id', '=', source.id)
    .execute()
  const ids = versions.map(({ id }) => id)
  await noteRemoved(trx, source, ids)
  await trx.deleteFrom('sources').where('id', '=', source.id).execute()
  return source.id
}

async function noteRemoved(trx: Trx, source: { id: string; org_id: number }, versions: string[]) {
  if (versions.length === 0) return
  const { id: source_id, org_id } = source
  await trx
    .insertInto('removed_versions')
    .values(versions.map((version_id) => ({ version_id, source_id, org_id })))
    .execute()
}

export async function keysOfOrg(db: Db, orgId: number): Promise<string[]> {
  const rows = await db.selectFrom('sources').select('key').where('org_id', '=', orgId).execute()
  return rows.map(({ key }) => key)
}

/** Ids of the org's sources of which the index still holds versions that are gone. */
export async function unsweptSources(db: Db, orgId: number): Promise<string[]> {
  const rows = await db
    .selectFrom('removed_versions')
    .select('source_id')
    .distinct()
    .where('org_id', '=', orgId)
    .execute()
  return rows.map(({ source_id }) => source_id)
}

export async function isCrawled(db: Db, sourceId: string): Promise<boolean> {
  const crawl = await db
    .selectFrom('crawls')
    .select('source_id')
    .where('source_id', '=', sourceId)
    .executeTakeFirst()
  return crawl !== undefined
}
