import { reembed } from '@guildhall/contracts/knowledge-settings'
import { sql } from 'kysely'
import type { Db, Trx } from '../db.ts'

/** A source whose vectors another model made, and its current version. */
export interface Outdated {
  id: string
  key: string
  version_id: string
}

/** Whether the org has one that nobody has begun, from its first source on. Until the end of the transaction no other is queued. */
export async function isQueued(trx: Trx, orgId: number): Promise<boolean> {
  await sql`select pg_advisory_xact_lock(hashtext('knowledge-reembed-queue'), ${orgId}::int)`.execute(
    trx,
  )
  const run = await trx
    .selectFrom('job_runs')
    .select('id')
    .where('job', '=', reembed.name)
    .where('state', '=', 'queued')
    .where('queued_at', '>', sql<Date>`now() - interval '1 hour'`) // should its message be lost, that is no reason for ever
    .where(sql<boolean>`args->>'org_id' = ${String(orgId)} and args->>'after' is null`)
    .executeTakeFirst()
  return run !== undefined
}

/** Up to `limit` of the org's sources after the id `after` that lack vectors of this model; those that came with their own are left. */
export function outdatedSources(
  db: Db,
  { org_id, model }: { org_id: number; model: string },
  { after, limit }: { after: string | undefined; limit: number },
): Promise<Outdated[]> {
  let query = db
    .selectFrom('sources')
    .innerJoin('versions', 'versions.id', 'current_version_id')
    .select(['sources.id', 'key', 'versions.id as version_id'])
    .where('org_id', '=', org_id)
    .where('embedding_model', 'is distinct from', model)
    .where('own_vectors', '=', false)
    .orderBy('sources.id')
    .limit(limit)
  if (after !== undefined) query = query.where('sources.id', '>', after)
  return query.execute()
}

export function contentsOf(db: Db, versionId: string): Promise<{ id: string; content: string }[]> {
  return db
    .selectFrom('chunks')
    .select(['id', 'content'])
    .where('version_id', '=', versionId)
    .orderBy('ordinal')
    .execute()
}

/** 4 kB each, twice as long on the way. */
const VECTORS_AT_ONCE = 500

interface Made {
  model: string
  /** By the ids of their passages. */
  vectors: { id: string; vector: Float32Array }[]
}

/** Gives the current version other vectors, which the index is still to get. False if the version was replaced meanwhile. */
export async function replaceVectors(
  trx: Trx,
  { id, version_id }: Outdated,
  { model, vectors }: Made,
): Promise<boolean> {
  const source = await trx
    .selectFrom('sources')
    .select('id')
    .where('id', '=', id)
    .where('current_version_id', '=', version_id)
    .forUpdate()
    .executeTakeFirst()
  if (!source) return false
  await trx
    .updateTable('versions')
    .set({ embedding_model: model })
    .where('id', '=', version_id)
    .execute()
  for (let at = 0; at < vectors.length; at += VECTORS_AT_ONCE) {
    const some = vectors.slice(at, at + VECTORS_AT_ONCE)
    const ids = some.map((one) => one.id)
    const bytes = some.map(({ vector }) =>
      Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength),
    )
    await sql`update chunks set embedding = made.embedding
      from unnest(${ids}::uuid[], ${bytes}::bytea[]) as made (id, embedding) where chunks.id = made.id`.execute(
      trx,
    )
  }
  await trx.updateTable('sources').set({ index_stale: true }).where('id', '=', id).execute()
  return true
}
