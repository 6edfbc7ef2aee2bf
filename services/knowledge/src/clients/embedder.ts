import { hasDirection, NO_DIRECTION } from '@guildhall/contracts/direction'
import { EMBEDDING_LENGTH } from '@guildhall/contracts/knowledge'
import { type OutboundRequest, outbound } from '@guildhall/outbound/fetch'
import { AppError } from '@guildhall/service/errors'
import { z } from 'zod'
import type { Leg } from '../search/leg.ts'

/** Texts of one request (decisions.md § 3). */
const BATCH = 64
/** Requests under way at once for one source. */
const AT_ONCE = 4
const TIMEOUT_MS = 30_000
/** Somebody waits for a search, and has the text search to fall back on. */
const QUERY_TIMEOUT_MS = 5_000

/** What embedders answer to a text that is too long or otherwise not theirs; other statuses are about all texts. */
const REFUSALS = [400, 413, 422]

const Answer = z.object({
  data: z.array(z.object({ index: z.int(), embedding: z.array(z.number()) })),
})

/** Where an embedder is and what is asked of it. */
export interface EmbedderSettings {
  url: string
  model: string
  key: string | undefined
  /** Text put before queries. */
  prefix: string
  /** How much what it finds counts beside the words, 0 to 1. */
  weight: number
  /** Set for the URL of an officer, which is fetched from the public internet only. */
  guard?: NonNullable<OutboundRequest['guard']>
}

/** Vectors of queries asked before; entries of different embedders have different keys. */
export interface KnownQueries {
  get(key: string): Float32Array | undefined
  set(key: string, vector: Float32Array): unknown
}

export type Embedder = ReturnType<typeof createEmbedder>

/** An embedder over its OpenAI-compatible API; `leg` watches what searches ask of it. */
export function createEmbedder(settings: EmbedderSettings, known: KnownQueries, leg: Leg) {
  const { model, prefix, weight } = settings
  /** Queries under way, so that equal ones at once ask once. */
  const asking = new Map<string, Promise<Float32Array | undefined>>()

  async function passages(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> {
    const limits = { timeoutMs: TIMEOUT_MS, ...(signal && { signal }) }
    const vectors: Float32Array[] = []
    for (let at = 0; at < texts.length; at += BATCH * AT_ONCE) {
      const group = texts.slice(at, at + BATCH * AT_ONCE)
      const batches = Array.from({ length: Math.ceil(group.length / BATCH) }, (_, n) =>
        embed(settings, group.slice(n * BATCH, (n + 1) * BATCH), limits),
      )
      vectors.push(...(await Promise.all(batches)).flat())
    }
    return vectors
  }

  /** Kept also where the answer comes after the search that asked has gone on without it. */
  async function ask(text: string, name: string): Promise<Float32Array | undefined> {
    const limits = { timeoutMs: QUERY_TIMEOUT_MS, retries: 0 }
    const [vector] = await embed(settings, [prefix + text], limits)
    if (vector) known.set(name, vector)
    return vector
  }

  async function query(text: string): Promise<Float32Array | undefined> {
    const name = JSON.stringify([settings.url, model, prefix, text])
    const before = known.get(name)
    if (before) return before
    const underway = asking.get(name)
    if (underway) return underway
    const asked = leg.run(() => ask(text, name), isOfOneText).finally(() => asking.delete(name))
    asking.set(name, asked)
    return asked
  }

  return {
    model,
    weight,
    /** The vectors of passages, in their order. Throws AppError('upstream', 'embeddings.…'), also when `signal` aborts. */
    passages,
    /** The vector of a query, or nothing while the embedder fails: then the search goes by text alone. */
    query,
  }
}

async function embed(
  { url, model, key, guard }: EmbedderSettings,
  input: string[],
  limits: { timeoutMs: number; retries?: number; signal?: AbortSignal },
): Promise<Float32Array[]> {
  const answer = await outbound({
    service: 'embeddings',
    url: `${url.replace(/\/+$/, '')}/embeddings`,
    method: 'POST',
    headers: key ? { authorization: `Bearer ${key}` } : {},
    body: { model, input },
    idempotent: true,
    accept: REFUSALS,
    ...(guard && { guard }),
    ...limits,
  })
  if (REFUSALS.includes(answer.status)) throw refused(answer.status)
  return vectorsOf(answer.json(), input.length)
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
    if (!hasDirection(vector)) throw noDirection()
    return vector
  })
}

const refused = (status: number) =>
  new AppError(
    'upstream',
    'embeddings.text_refused',
    `The embedder answered ${status}: it does not take one of the texts. Make the passages or the query shorter; if it takes none at all, check the model under the org's integrations or in the deployment's settings.`,
  )

const noDirection = () =>
  new AppError(
    'upstream',
    'embeddings.no_direction',
    `The embedder answered ${NO_DIRECTION}. Leave out what holds no words; if it does so with every text, check the model under the org's integrations or in the deployment's settings.`,
  )

const isOfOneText = ({ code }: AppError) =>
  ['embeddings.text_refused', 'embeddings.no_direction'].includes(code)

const unusable = (what: string) =>
  new AppError(
    'upstream',
    'embeddings.unusable',
    `The embedder answered ${what}. Check its URL and its model, under the org's integrations or in the deployment's settings: the model must make ${EMBEDDING_LENGTH} numbers.`,
  )
