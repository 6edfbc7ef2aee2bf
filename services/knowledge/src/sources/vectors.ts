import type { SourceBody } from '@guildhall/contracts/knowledge'
import type { Embedder } from '../clients/embedder.ts'

/** The vectors of a source's chunks: those that came, else those of the embedder, else none. */
export async function vectorsOf(
  embedder: Embedder | undefined,
  { chunks, embedding_model }: Pick<SourceBody, 'chunks' | 'embedding_model'>,
) {
  const sent = chunks.flatMap(({ embedding }) => (embedding ? [Float32Array.from(embedding)] : []))
  if (sent.length > 0) return { model: embedding_model ?? '', vectors: sent }
  if (!embedder) return undefined
  return {
    model: embedder.model,
    vectors: await embedder.embedPassages(chunks.map(({ content }) => content)),
  }
}
