import { ask } from '@guildhall/bus/calls'
import type { Bus } from '@guildhall/bus/connect'
import { embedTexts } from '@guildhall/contracts/embeddings'

export interface Embedded {
  model: string
  /** 32-bit numbers, little-endian. */
  vectors: Buffer[]
}

/**
 * Vectors of up to 64 texts by the org's embedder; nothing where it has none. Throws what knowledge throws, and
 * `knowledge.unreachable` after the deadline.
 */
export async function embed(
  bus: Bus,
  org_id: number,
  as: 'query' | 'passage',
  texts: string[],
  deadlineMs: number = embedTexts.deadlineMs,
): Promise<Embedded | undefined> {
  const { embedded } = await ask(bus, { ...embedTexts, deadlineMs }, { org_id, as, texts })
  if (!embedded) return undefined
  const { model, vectors } = embedded
  return { model, vectors: vectors.map((vector) => Buffer.from(vector, 'base64')) }
}
