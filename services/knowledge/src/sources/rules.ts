import { createHash } from 'node:crypto'
import type { NewChunk, Source, SourceBody } from '@guildhall/contracts/knowledge'
import type { OrgRef } from '@guildhall/contracts/route'
import { AppError, type Detail } from '@guildhall/service/errors'
import type { SourceRow, VersionRow } from '../db.ts'

/** Throws unless the chunks of a source fit together. */
export function checkChunks({ chunks, embedding_model }: SourceBody) {
  const withVector = chunks.filter(({ embedding }) => embedding).length
  if (withVector > 0 && withVector < chunks.length)
    refuse('embeddings_mixed', 'Either all chunks carry an embedding or none does')
  if (withVector > 0 && !embedding_model)
    refuse('embedding_model_missing', 'Send embedding_model with the embeddings')
  const byOrdinal = new Map(chunks.map((chunk) => [chunk.ordinal, chunk]))
  if (byOrdinal.size < chunks.length) refuse('ordinal_twice', 'Each ordinal may stand once')
  const details = chunks.flatMap((chunk, i) => parentFault(chunk, i, byOrdinal))
  if (details.length > 0) refuse('parent', 'A parent must be a chunk of a higher level', details)
}

/** Levels rise from a row to its summary, so that there can be no circle. */
function parentFault(
  { parent_ordinal, level }: NewChunk,
  i: number,
  byOrdinal: Map<number, NewChunk>,
): Detail[] {
  if (parent_ordinal === null) return []
  const parent = byOrdinal.get(parent_ordinal)
  const path = `/body/chunks/${i}/parent_ordinal`
  if (!parent) return [{ path, message: `there is no chunk ${parent_ordinal}` }]
  return parent.level > level
    ? []
    : [{ path, message: `chunk ${parent_ordinal} is not of a higher level` }]
}

/** Throws unless the org may write public sources. */
export function checkPublic(isPublic: boolean, org: OrgRef, publishers: readonly string[]) {
  if (!isPublic || org.publisher || publishers.includes(org.prefix)) return
  throw new AppError(
    'forbidden',
    'source.not_publisher',
    'Only publishers may write public sources; ask the superadmin',
  )
}

/** What makes two contents the same: ordinal, level, parent and text, and whether vectors came and from which model. */
export function contentHash({
  chunks,
  embedding_model,
}: Pick<SourceBody, 'chunks' | 'embedding_model'>): string {
  const hash = createHash('sha256')
  for (const { ordinal, level, parent_ordinal, content } of chunks.toSorted(
    (a, b) => a.ordinal - b.ordinal,
  )) {
    hash.update(JSON.stringify([ordinal, level, parent_ordinal, content]))
  }
  return hash
    .update(JSON.stringify([chunks[0]?.embedding ? embedding_model : null]))
    .digest('base64url')
}

/** A source as clients see it. */
export function shownSource(row: SourceRow, version: VersionRow | undefined): Source {
  const { id, key, category, title, url, updated_at } = row
  return {
    id,
    key,
    category,
    title,
    url,
    public: row.public,
    version: version
      ? {
          id: version.id,
          content_hash: version.content_hash,
          embedding_model: version.embedding_model,
          chunk_count: version.chunk_count,
          text_chars: version.text_chars,
          fetched_at: version.fetched_at.toISOString(),
        }
      : null,
    crawl: null,
    updated_at: updated_at.toISOString(),
  }
}

function refuse(reason: string, message: string, details?: Detail[]): never {
  throw new AppError('invalid', `source.${reason}`, message, details && { details })
}
