import { EMBEDDING_LENGTH } from '@guildhall/contracts/knowledge'
import { outbound } from '@guildhall/outbound/fetch'
import { AppError } from '@guildhall/service/errors'
import type { Log } from '@guildhall/service/log'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { Config } from '../config.ts'

/** Texts of one request (decisions.md § 3). */
const BATCH = 64
/** Requests under way at once for one source. */
const AT_ONCE = 4
const TIMEOUT_MS = 30_000
/** Somebody waits for a search, and has the text search to fall back on. */
const QUERY_TIMEOUT_MS = 5_000
/** 4 kB each. */
const QUERIES_KEPT = 2_000

const Answer = z.object({
  data: z.array(z.object({ index: z.int(), embedding: z.array(z.number()) })),
})

export type Embedder = NonNullable<ReturnType<typeof createEmbedder>>
type Settings = Pick<
  Config,
  'EMBEDDINGS_URL' | 'EMBEDDINGS_MODEL' | 'EMBEDDINGS_API_KEY' | 'EMBEDDINGS_QUERY_PREFIX'
>

/** The embedder over its OpenAI-compatible API; nothing where EMBEDDINGS_URL is unset. */
export function createEmbedder(config: Settings, log: Log) {
  const { EMBEDDINGS_URL, EMBEDDINGS_MODEL: model, EMBEDDINGS_QUERY_PREFIX: prefix } = config
  if (!EMBEDDINGS_URL) return undefined
  const url = `${EMBEDDINGS_URL.replace(/\/+$/, '')}/embeddings`
  const key = config.EMBEDDINGS_API_KEY
  const queries = new LRUCache<string, Float32Array>({ max: QUERIES_KEPT })
  let failing = false

  async function ask(input: string[], limits: { timeoutMs: number; retries?: number }) {
    const answer = await outbound({
      service: 'embeddings',
      url,
      method: 'POST',
      headers: key ? { authorization: `Bearer ${key}` } : {},
      body: { model, input },
      idempotent: true,
      ...limits,
    })
    return vectorsOf(answer.json(), input.length)
  }

  async function passages(texts: readonly string[]): Promise<Float32Array[]> {
    const vectors: Float32Array[] = []
    for (let at = 0; at < texts.length; at += BATCH * AT_ONCE) {
      const group = texts.slice(at, at + BATCH * AT_ONCE)
      const batches = Array.from({ length: Math.ceil(group.length / BATCH) }, (_, n) =>
        ask(group.slice(n * BATCH, (n + 1) * BATCH), { timeoutMs: TIMEOUT_MS }),
      )
      vectors.push(...(await Promise.all(batches)).flat())
    }
    return vectors
  }

  async function query(text: string): Promise<Float32Array | undefined> {
    const known = queries.get(text)
    if (known) return known
    const limits = { timeoutMs: QUERY_TIMEOUT_MS, retries: 0 }
    const answer = await ask([prefix + text], limits).catch(refusal)
    const vector = answer instanceof AppError ? undefined : answer[0]
    if (answer instanceof AppError && !failing)
      log.warn({ err: answer }, 'The embedder fails; searches go by text alone')
    if (vector && failing) log.info('The embedder answers again')
    failing = vector === undefined
    if (vector) queries.set(text, vector)
    return vector
  }

  return {
    model,
    /** The vectors of passages, in their order. Throws AppError('upstream', 'embeddings.…'). */
    passages,
    /** The vector of a query, or nothing while the embedder fails: then the search goes by text alone. */
    query,
  }
}

function refusal(error: unknown): AppError {
  if (error instanceof AppError) return error
  throw error
}

function vectorsOf(body: unknown, count: number): Float32Array[] {
  const parsed = Answer.safeParse(body)
  if (!parsed.success) throw unusable('something other than embeddings')
  const data = parsed.data.data.toSorted((a, b) => a.index - b.index)
  if (data.length !== count || data.some(({ index }, n) => index !== n))
    throw unusable(`${data.length} embeddings for ${count} texts`)
  return data.map(({ embedding }) => {
    const vector = Float32Array.from(embedding)
    if (vector.length !== EMBEDDING_LENGTH)
      throw unusable(`${vector.length} numbers instead of ${EMBEDDING_LENGTH}`)
    if (!vector.every(Number.isFinite)) throw unusable('a number too large for 32 bits')
    return vector
  })
}

const unusable = (what: string) =>
  new AppError(
    'upstream',
    'embeddings.unusable',
    `The embedder answered ${what}. Check EMBEDDINGS_URL and EMBEDDINGS_MODEL: the model must make ${EMBEDDING_LENGTH} numbers.`,
  )
