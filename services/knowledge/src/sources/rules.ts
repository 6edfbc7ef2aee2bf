import { createHash } from 'node:crypto'
import { hasDirection, NO_DIRECTION } from '@guildhall/contracts/direction'
import type { NewChunk, SourceBody } from '@guildhall/contracts/knowledge'
import type { OrgRef } from '@guildhall/contracts/route'
import { AppError, type Detail } from '@guildhall/service/errors'

/** A refusal names at most so many faulty chunks. */
const MOST_DETAILS = 20

type Passages = Pick<SourceBody, 'chunks' | 'embedding_model'>

/** Throws unless the chunks fit each other (interface.md, Knowledge source): every fault has its own detail. */
export function checkChunks({ chunks, embedding_model }: Passages): void {
  const details = [...faultyPlaces(chunks), ...faultyVectors(chunks)]
  if (chunks.some(({ embedding }) => embedding) && !embedding_model)
    details.push({ path: '/body/embedding_model', message: 'name the model of the embeddings' })
  if (details.length === 0) return
  const message = `The chunks do not fit each other: ${details[0]?.path} ${details[0]?.message}`
  throw new AppError('invalid', 'source.chunks', message, {
    details: details.slice(0, MOST_DETAILS),
  })
}

/** A parent of a higher level rules out cycles as well. */
function faultyPlaces(chunks: readonly NewChunk[]): Detail[] {
  const levels = new Map(chunks.map(({ ordinal, level }) => [ordinal, level]))
  const seen = new Set<number>()
  return chunks.flatMap(({ ordinal, level, parent_ordinal: parent }, n) => {
    const faults: Detail[] = []
    if (seen.has(ordinal))
      faults.push({ path: `/body/chunks/${n}/ordinal`, message: `${ordinal} stands twice` })
    seen.add(ordinal)
    const path = `/body/chunks/${n}/parent_ordinal`
    const above = parent === null ? Number.POSITIVE_INFINITY : levels.get(parent)
    if (above === undefined) faults.push({ path, message: `no chunk has the ordinal ${parent}` })
    else if (above <= level)
      faults.push({ path, message: `a summary is of a higher level than ${level}` })
    return faults
  })
}

function faultyVectors(chunks: readonly NewChunk[]): Detail[] {
  const some = chunks.some(({ embedding }) => embedding)
  return chunks.flatMap(({ embedding }, n) => {
    const path = `/body/chunks/${n}/embedding`
    if (!embedding) return some ? [{ path, message: 'all chunks carry one or none does' }] : []
    return hasDirection(embedding) ? [] : [{ path, message: NO_DIRECTION }]
  })
}

/** Whether the superadmin marked the org as a publisher, or KNOWLEDGE_PUBLISHERS names it. */
export const mayPublish = (
  { prefix, publisher }: Pick<OrgRef, 'prefix' | 'publisher'>,
  publishers: readonly string[],
): boolean => publisher || publishers.includes(prefix)

/** Throws if the source is to be public and the org is no publisher. */
export function checkPublisher(
  wanted: { public: boolean },
  org: Pick<OrgRef, 'prefix' | 'publisher'>,
  publishers: readonly string[],
): void {
  if (!wanted.public || mayPublish(org, publishers)) return
  throw new AppError(
    'forbidden',
    'source.not_publisher',
    'Only publishers may write public sources. Write it with public: false, or ask the superadmin to mark the org as a publisher.',
  )
}

/** The hash of a source that came without one: ordinals, levels, parents, contents, and whose vectors came along. */
export function hashOf({ chunks, embedding_model }: Passages): string {
  const carried = chunks.some(({ embedding }) => embedding)
  const hash = createHash('sha256').update(JSON.stringify(carried ? embedding_model : null))
  for (const { ordinal, level, parent_ordinal, content } of inOrder(chunks)) {
    hash.update(`\n${JSON.stringify([ordinal, level, parent_ordinal, content])}`)
  }
  return hash.digest('hex')
}

export const inOrder = <Chunk extends { ordinal: number }>(chunks: readonly Chunk[]) =>
  chunks.toSorted((a, b) => a.ordinal - b.ordinal)

export const noSource = (key: string) =>
  new AppError('not_found', 'source.not_found', `The org has no source ${key}`)
