import type { embedTexts } from '@guildhall/contracts/embeddings'
import { AppError } from '@guildhall/service/errors'
import type { z } from 'zod'
import type { Embedder } from '../clients/embedder.ts'
import type { Deps } from '../deps.ts'

type Asked = z.output<typeof embedTexts.args>

/** Vectors for another service; null where the org has no embedder. Throws while the embedder fails. */
export async function embedFor(
  { embedderOf }: Pick<Deps, 'embedderOf'>,
  { org_id, as, texts }: Asked,
) {
  const embedder = await embedderOf(org_id)
  if (!embedder) return null
  const vectors = as === 'query' ? await queries(embedder, texts) : await embedder.passages(texts)
  return { model: embedder.model, vectors: vectors.map(base64Of) }
}

const queries = (embedder: Embedder, texts: string[]) =>
  Promise.all(
    texts.map(async (text) => {
      const vector = await embedder.query(text)
      if (vector) return vector
      throw new AppError(
        'upstream',
        'embeddings.failed',
        'The embedder does not answer at the moment; try again',
      )
    }),
  )

const base64Of = ({ buffer, byteOffset, byteLength }: Float32Array) =>
  Buffer.from(buffer, byteOffset, byteLength).toString('base64')
