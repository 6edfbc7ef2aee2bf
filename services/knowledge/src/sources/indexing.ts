import type { Db, SourceRow, Trx, VersionRow } from '../db.ts'
import type { Deps } from '../deps.ts'
import type { IndexRow } from '../search/index.ts'
import { noteRemovals } from './queries.ts'

const BATCH = 1_000

type Parts = Pick<Deps, 'db' | 'index'>

/**
 * Brings a version's rows into the index, then makes it the source's current one. `committed` runs in that
 * transaction. Running it again, here or elsewhere, is harmless; a version that was replaced meanwhile is
 * left alone.
 */
export async function indexVersion(
  parts: Parts,
  versionId: string,
  committed?: (trx: Trx) => Promise<void>,
) {
  const found = await versionWithSource(parts.db, versionId)
  if (!found) return
  await writeRows(parts, found.version, found.source)
  const left = await parts.db.transaction().execute(async (trx) => {
    const source = await trx
      .selectFrom('sources')
      .selectAll()
      .where('id', '=', found.source.id)
      .forUpdate()
      .executeTakeFirst()
    const version = await trx
      .selectFrom('versions')
      .select('id')
      .where('id', '=', versionId)
      .executeTakeFirst()
    if (!source || !version) return [versionId] // deleted or replaced: its rows must go again
    await committed?.(trx)
    const same = source.public === found.source.public && source.category === found.source.category
    await trx.updateTable('versions').set({ indexed: same }).where('id', '=', versionId).execute()
    await trx
      .updateTable('sources')
      .set({ current_version_id: versionId })
      .where('id', '=', source.id)
      .execute()
    const old = await trx
      .deleteFrom('versions')
      .where('source_id', '=', source.id)
      .where('id', '<', versionId)
      .returning('id')
      .execute()
    const ids = old.map(({ id }) => id)
    await noteRemovals(trx, source.org_id, ids)
    return ids
  })
  await removeRows(parts, found.source.org_id, left)
}

/** Takes the rows of versions out of the index and forgets that it had to be done. */
export async function removeRows({ db, index }: Parts, org: number, versions: readonly string[]) {
  if (versions.length === 0) return
  await index.remove(org, versions)
  await db.deleteFrom('index_removals').where('version_id', 'in', versions).execute()
}

async function versionWithSource(
  db: Db,
  id: string,
): Promise<{ version: VersionRow; source: SourceRow } | undefined> {
  const version = await db
    .selectFrom('versions')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst()
  if (!version) return undefined
  const source = await db
    .selectFrom('sources')
    .selectAll()
    .where('id', '=', version.source_id)
    .executeTakeFirst()
  return source && { version, source }
}

/** A batch at a time, so that a source of 5 000 vectors is never in memory whole. */
async function writeRows({ db, index }: Parts, version: VersionRow, source: SourceRow) {
  for (let after = -1; ; ) {
    const chunks = await db
      .selectFrom('chunks')
      .selectAll()
      .where('version_id', '=', version.id)
      .where('ordinal', '>', after)
      .orderBy('ordinal')
      .limit(BATCH)
      .execute()
    await index.write(
      chunks.map(
        ({ id, level, content, embedding }): IndexRow => ({
          id,
          org: source.org_id,
          public: source.public,
          category: source.category,
          version: version.id,
          level,
          model: embedding && version.embedding_model,
          text: content,
          vector: embedding && floatsOf(embedding),
        }),
      ),
    )
    const last = chunks.at(-1)
    if (!last || chunks.length < BATCH) return
    after = last.ordinal
  }
}

/** Reads little-endian float32; a copy, because the driver's buffers need not be aligned. */
const floatsOf = (bytes: Buffer) => new Float32Array(Uint8Array.from(bytes).buffer)
export const bytesOf = (vector: Float32Array) =>
  Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength)
