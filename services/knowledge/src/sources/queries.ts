import type { Source } from '@guildhall/contracts/knowledge'
import { type SelectQueryBuilder, sql } from 'kysely'
import type { Db, SourceRow, Tables, Trx, VersionRow } from '../db.ts'
import { shownSource } from './rules.ts'

export interface Labels {
  category: string
  title: string
  url: string
  public: boolean
}

/** The org's source of this key under its lock, made if it is missing. */
export async function lockSource(
  trx: Trx,
  org_id: number,
  key: string,
  id: string,
  labels: Labels,
): Promise<SourceRow> {
  await trx
    .insertInto('sources')
    .values({ id, org_id, key, ...labels, current_version_id: null })
    .onConflict((on) => on.constraint('sources_key').doNothing())
    .execute()
  return trx
    .selectFrom('sources')
    .selectAll()
    .where('org_id', '=', org_id)
    .where('key', '=', key)
    .forUpdate()
    .executeTakeFirstOrThrow()
}

export async function updateLabels(trx: Trx, id: string, labels: Labels) {
  await trx
    .updateTable('sources')
    .set({ ...labels, updated_at: sql`now()` })
    .where('id', '=', id)
    .execute()
}

export async function findVersion(db: Db, id: string | null): Promise<VersionRow | undefined> {
  if (id === null) return undefined
  return db.selectFrom('versions').selectAll().where('id', '=', id).executeTakeFirst()
}

/** The whole source as clients see it, or nothing. */
export async function readSource(db: Db, org_id: number, key: string): Promise<Source | undefined> {
  const [found] = await shown(
    db.selectFrom('sources').where('org_id', '=', org_id).where('key', '=', key),
  )
  return found
}

/** Up to `limit` sources of an org whose key comes after `before`. */
export function listSourcesOf(
  db: Db,
  org_id: number,
  {
    category,
    before,
    limit,
  }: { category?: string | undefined; before: string | undefined; limit: number },
): Promise<Source[]> {
  let query = db
    .selectFrom('sources')
    .where('org_id', '=', org_id)
    .orderBy(sql`key collate "C"`)
    .limit(limit)
  if (category !== undefined) query = query.where('category', '=', category)
  if (before !== undefined) query = query.where(sql<boolean>`key collate "C" > ${before}`)
  return shown(query)
}

async function shown(query: SelectQueryBuilder<Tables, 'sources', object>): Promise<Source[]> {
  const rows = await query
    .leftJoin('versions', 'versions.id', 'sources.current_version_id')
    .selectAll('sources')
    .select(sql<VersionRow | null>`to_jsonb(versions)`.as('version'))
    .execute()
  return rows.map(({ version, ...row }) =>
    shownSource(
      row,
      version ? { ...version, fetched_at: new Date(version.fetched_at) } : undefined,
    ),
  )
}

/** Deletes a source with its versions; nothing where there is none. */
export async function deleteSourceOf(
  trx: Trx,
  org_id: number,
  key: string,
): Promise<string[] | undefined> {
  const row = await trx
    .selectFrom('sources')
    .select('id')
    .where('org_id', '=', org_id)
    .where('key', '=', key)
    .forUpdate()
    .executeTakeFirst()
  if (!row) return undefined
  const versions = await trx
    .selectFrom('versions')
    .select('id')
    .where('source_id', '=', row.id)
    .execute()
  const ids = versions.map(({ id }) => id)
  await noteRemovals(trx, org_id, ids)
  await trx.deleteFrom('sources').where('id', '=', row.id).execute()
  return ids
}

/** Notes that the rows of these versions must leave the index. */
export async function noteRemovals(trx: Trx, org_id: number, ids: readonly string[]) {
  if (ids.length === 0) return
  const rows = ids.map((version_id) => ({ version_id, org_id }))
  await trx
    .insertInto('index_removals')
    .values(rows)
    .onConflict((on) => on.doNothing())
    .execute()
}
