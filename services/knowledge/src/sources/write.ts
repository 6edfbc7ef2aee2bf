import { audit, enqueue } from '@guildhall/bus/outbox'
import type { Caller } from '@guildhall/contracts/caller'
import { type NewChunk, sourceWritten } from '@guildhall/contracts/knowledge'
import type { OrgRef } from '@guildhall/contracts/route'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import type { Trx } from '../db.ts'
import type { Deps } from '../deps.ts'
import { bytesOf, indexVersion } from './indexing.ts'
import { findVersion, type Labels, lockSource, noteRemovals, updateLabels } from './queries.ts'

/** Rows of one insert; Postgres takes 65 535 parameters. */
const INSERT_BATCH = 1_000

export interface Writing extends Labels {
  key: string
  content_hash: string
  chunks: readonly Omit<NewChunk, 'embedding'>[]
  /** Makes the vectors, in the order of the chunks; asked only when the content is new. */
  vectors: () => Promise<{ model: string; vectors: readonly Float32Array[] } | undefined>
}

/**
 * Replaces a source. True when its content is new, false when only its labels changed. The version is
 * committed, indexed and only then made current, so the old text is found until the new one is. Whatever
 * stops that half-way is finished by the job `knowledge.index_pending`.
 */
export async function writeSource(
  deps: Deps,
  org: OrgRef,
  caller: Caller,
  writing: Writing,
): Promise<boolean> {
  const { key, content_hash, chunks } = writing
  const labels = {
    category: writing.category,
    title: writing.title,
    url: writing.url,
    public: writing.public,
  }
  const said = { key, chunks: chunks.length }
  const tell = (trx: Trx, changed: boolean) =>
    enqueue(trx, audit(sourceWritten, caller, org, { ...said, changed }))

  const relabelled = await deps.db.transaction().execute(async (trx) => {
    const same = await sameContent(trx, org.id, key, content_hash)
    if (!same) return undefined
    await updateLabels(trx, same.source_id, labels)
    await trx.updateTable('versions').set({ indexed: false }).where('id', '=', same.id).execute()
    await tell(trx, false)
    return same.id
  })
  if (relabelled) {
    await finish(indexVersion(deps, relabelled))
    return false
  }

  const made = await writing.vectors()
  const version = newId()
  await deps.db.transaction().execute(async (trx) => {
    const source = await lockSource(trx, org.id, key, newId(), labels)
    await updateLabels(trx, source.id, labels)
    await dropUnfinished(trx, source.id, source.current_version_id, org.id)
    const text_chars = chunks.reduce(
      (sum, { content, level }) => sum + (level === 0 ? content.length : 0),
      0,
    )
    const row = {
      id: version,
      source_id: source.id,
      content_hash,
      embedding_model: made?.model ?? null,
      chunk_count: chunks.length,
      text_chars,
    }
    await trx.insertInto('versions').values(row).execute()
    await insertChunks(trx, version, chunks, made?.vectors)
    await tell(trx, true)
  })
  await finish(indexVersion(deps, version))
  return true
}

/** The current version, under its source's lock, if its content is this. */
async function sameContent(trx: Trx, org_id: number, key: string, hash: string) {
  const source = await trx
    .selectFrom('sources')
    .selectAll()
    .where('org_id', '=', org_id)
    .where('key', '=', key)
    .forUpdate()
    .executeTakeFirst()
  const version = source && (await findVersion(trx, source.current_version_id))
  return version?.content_hash === hash ? version : undefined
}

/** Versions of the source that were never made current are replaced by the new one. */
async function dropUnfinished(trx: Trx, source_id: string, current: string | null, org_id: number) {
  const unfinished = await trx
    .deleteFrom('versions')
    .where('source_id', '=', source_id)
    .$if(current !== null, (query) => query.where('id', '!=', current))
    .returning('id')
    .execute()
  await noteRemovals(
    trx,
    org_id,
    unfinished.map(({ id }) => id),
  )
}

async function insertChunks(
  trx: Trx,
  version_id: string,
  chunks: Writing['chunks'],
  vectors: readonly Float32Array[] | undefined,
) {
  const rows = chunks.map(({ ordinal, level, parent_ordinal, content }, i) => {
    const vector = vectors?.[i]
    return {
      id: newId(),
      version_id,
      ordinal,
      level,
      parent_ordinal,
      content,
      embedding: vector ? bytesOf(vector) : null,
    }
  })
  for (let at = 0; at < rows.length; at += INSERT_BATCH) {
    await trx
      .insertInto('chunks')
      .values(rows.slice(at, at + INSERT_BATCH))
      .execute()
  }
}

async function finish(indexing: Promise<void>) {
  await indexing.catch((cause) => {
    throw new AppError(
      'unavailable',
      'source.indexing',
      'The source is stored and will be searchable within minutes; nothing has to be sent again',
      { cause },
    )
  })
}
