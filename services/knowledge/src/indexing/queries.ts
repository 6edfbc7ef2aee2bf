import { audit, enqueue } from '@guildhall/bus/outbox'
import { sourceWritten } from '@guildhall/contracts/knowledge'
import type { Db, Tables, Trx } from '../db.ts'
import type { IndexRow } from '../search/index.ts'
import { dropVersion } from '../sources/queries.ts'

/** A version and the labels under which its rows belong in the index. */
export interface ToIndex {
  id: string
  source_id: string
  org_id: number
  state: Tables['versions']['state']
  embedding_model: string | null
  category: string
  public: boolean
}

const COLUMNS = ['versions.id', 'source_id', 'org_id', 'state', 'embedding_model'] as const

/** What the index lacks of a source: the version to come, else the current one if its rows are not as they should be. */
export async function lackingVersion(db: Db, sourceId: string): Promise<ToIndex | undefined> {
  const coming = await db
    .selectFrom('versions')
    .innerJoin('sources', 'sources.id', 'source_id')
    .select([...COLUMNS, 'versions.category', 'versions.public'])
    .where('source_id', '=', sourceId)
    .where('state', '=', 'indexing')
    .executeTakeFirst()
  return coming ?? currentOf(db, sourceId).where('index_stale', '=', true).executeTakeFirst()
}

/** What searches find of a source. */
export const currentVersion = (db: Db, sourceId: string): Promise<ToIndex | undefined> =>
  currentOf(db, sourceId).executeTakeFirst()

const currentOf = (db: Db, sourceId: string) =>
  db
    .selectFrom('sources')
    .innerJoin('versions', 'versions.id', 'current_version_id')
    .select([...COLUMNS, 'sources.category', 'sources.public'])
    .where('sources.id', '=', sourceId)

/** The version as rows of the index. */
export async function indexRows(db: Db, version: ToIndex): Promise<IndexRow[]> {
  const chunks = await db
    .selectFrom('chunks')
    .select(['id', 'level', 'content', 'embedding'])
    .where('version_id', '=', version.id)
    .execute()
  return chunks.map(({ id, level, content, embedding }) => ({
    id,
    org: version.org_id,
    public: version.public,
    category: version.category,
    version: version.id,
    level,
    model: embedding && version.embedding_model,
    text: content,
    // copied, as the driver's bytes need not begin where a float32 may
    vector: embedding && new Float32Array(Uint8Array.from(embedding).buffer),
  }))
}

/** Puts an indexed version in the place of the current one, with its labels. False if it has been replaced itself. */
export async function makeCurrent(trx: Trx, { id, source_id }: ToIndex): Promise<boolean> {
  const source = await trx
    .selectFrom('sources')
    .select(['id', 'org_id', 'key'])
    .where('id', '=', source_id)
    .forUpdate()
    .executeTakeFirst()
  const version = await trx
    .selectFrom('versions')
    .select(['category', 'title', 'url', 'public', 'fetched_at', 'chunk_count', 'written_by'])
    .where('id', '=', id)
    .where('state', '=', 'indexing') // another process may have been quicker
    .executeTakeFirst()
  if (!source || !version) return false
  const { fetched_at, chunk_count, written_by, ...labels } = version
  await trx
    .updateTable('sources')
    .set({ ...labels, current_version_id: id, index_stale: false, updated_at: fetched_at })
    .where('id', '=', source.id)
    .execute()
  await dropVersion(trx, source, 'current')
  await trx.updateTable('versions').set({ state: 'current' }).where('id', '=', id).execute()
  const said = { key: source.key, chunks: chunk_count, changed: true }
  await enqueue(trx, audit(sourceWritten, written_by, { id: source.org_id }, said))
  return true
}

/** Notes that the index has the current version as it should be, unless its labels or its vectors changed meanwhile. */
export async function noteIndexed(db: Db, version: ToIndex) {
  await db.transaction().execute(async (trx) => {
    const source = await trx
      .selectFrom('sources')
      .select('id')
      .where('current_version_id', '=', version.id)
      .where('category', '=', version.category)
      .where('public', '=', version.public)
      .forUpdate()
      .executeTakeFirst()
    // a statement of its own: one that waited for the lock would see the vectors as they were before
    const unchanged = await trx
      .selectFrom('versions')
      .select('id')
      .where('id', '=', version.id)
      .where('embedding_model', 'is not distinct from', version.embedding_model)
      .executeTakeFirst()
    if (!source || !unchanged) return
    await trx
      .updateTable('sources')
      .set({ index_stale: false })
      .where('id', '=', source.id)
      .execute()
  })
}

/** Notes that the generation that a rebuild fills has the source. */
export async function noteCopied(db: Db, sourceId: string) {
  await db.updateTable('sources').set({ next_stale: false }).where('id', '=', sourceId).execute()
}

export async function removedVersions(db: Db, sourceId: string) {
  return db
    .selectFrom('removed_versions')
    .select(['version_id', 'org_id'])
    .where('source_id', '=', sourceId)
    .execute()
}

export async function forgetRemoved(db: Db, versions: string[]) {
  await db.deleteFrom('removed_versions').where('version_id', 'in', versions).execute()
}

/** Sources whose rows in the index are not what the database says. */
export async function unfinishedSources(db: Db): Promise<string[]> {
  const rows = await db
    .selectFrom('versions')
    .select('source_id as id')
    .where('state', '=', 'indexing')
    .union(db.selectFrom('sources').select('id').where('index_stale', '=', true))
    .union(db.selectFrom('removed_versions').select('source_id as id'))
    .execute()
  return rows.map(({ id }) => id)
}

/** After this every current version is written to the index again, however often that is interrupted. */
export async function markAllStale(db: Db) {
  await db
    .updateTable('sources')
    .set({ index_stale: true })
    .where('current_version_id', 'is not', null)
    .execute()
}
