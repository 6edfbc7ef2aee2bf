import { EMBEDDING_LENGTH } from '@guildhall/contracts/knowledge'
import { outbound } from '@guildhall/outbound/fetch'
import { AppError } from '@guildhall/service/errors'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { Config } from '../config.ts'

const BATCH = 64
const TIMEOUT_MS = 30_000
/** A question is waited for by a person: then text alone is better than a late answer. */
const QUERY_TIMEOUT_MS = 5_000
const MOST_QUERIES = 1_000
const MAX_BYTES = 8 * 1024 * 1024

const Answer = z.object({
  data: z.array(
    z.object({ index: z.int(), embedding: z.array(z.number()).length(EMBEDDING_LENGTH) }),
  ),
})

export type Embedder = NonNullable<ReturnType<typeof createEmbedder>>

/** An OpenAI-compatible embeddings service, or nothing where none is configured. */
export function createEmbedder(config: Config) {
  const {
    EMBEDDINGS_URL,
    EMBEDDINGS_MODEL: model,
    EMBEDDINGS_API_KEY,
    EMBEDDINGS_QUERY_PREFIX,
  } = config
  if (!EMBEDDINGS_URL) return undefined
  const url = `${EMBEDDINGS_URL.replace(/\/$/, '')}/embeddings`
  const headers = EMBEDDINGS_API_KEY ? { authorization: `Bearer ${EMBEDDINGS_API_KEY}` } : {}
  const queries = new LRUCache<string, Float32Array>({ max: MOST_QUERIES })

  async function post(
    input: string[],
    timeoutMs: number,
    retries: number,
  ): Promise<Float32Array[]> {
    const body = { model, input }
    const answer = await outbound({
      service: 'embeddings',
      url,
      method: 'POST',
      headers,
      body,
      timeoutMs,
      retries,
      maxBytes: MAX_BYTES,
      idempotent: true,
    })
    const parsed = Answer.safeParse(answer.json())
    if (!parsed.success || parsed.data.data.length !== input.length) throw misfit(parsed.error)
    return parsed.data.data
      .toSorted((a, b) => a.index - b.index)
      .map(({ embedding }) => Float32Array.from(embedding))
  }

  return {
    model,
    /** One vector a text, in order. Throws `upstream` when the service fails or answers another length. */
    async embedPassages(texts: readonly string[]): Promise<Float32Array[]> {
      const vectors: Float32Array[] = []
      for (let at = 0; at < texts.length; at += BATCH) {
        vectors.push(...(await post(texts.slice(at, at + BATCH), TIMEOUT_MS, 2)))
      }
      return vectors
    },
    /** The vector of a question; those asked lately are remembered. */
    async embedQuery(query: string): Promise<Float32Array> {
      const known = queries.get(query)
      if (known) return known
      const [vector] = await post([EMBEDDINGS_QUERY_PREFIX + query], QUERY_TIMEOUT_MS, 0)
      if (!vector) throw misfit()
      queries.set(query, vector)
      return vector
    },
  }
}

const misfit = (cause?: unknown) =>
  new AppError(
    'upstream',
    'embeddings.misfit',
    `The embeddings service must answer one vector of ${EMBEDDING_LENGTH} numbers a text`,
    { cause },
  )
