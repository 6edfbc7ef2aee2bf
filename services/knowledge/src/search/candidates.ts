import type { KnowledgeSettings, SearchQuery } from '@guildhall/contracts/knowledge'
import { AppError } from '@guildhall/service/errors'
import type { Embedder } from '../clients/embedder.ts'
import type { Deps } from '../deps.ts'
import { settingsOf } from '../settings/effective.ts'
import type { RankedList } from './fuse.ts'
import type { Hit, Scope } from './index.ts'

/** Hits that each of the two searches gives to the fusion (decisions.md § 3). */
const CANDIDATES = 50
const RETRY_SECONDS = 10

interface Ranked {
  settings: KnowledgeSettings
  lists: RankedList[]
  /** Whether the search by meaning ran. */
  dense: boolean
}

/**
 * What the index finds by words and by meaning, as the org's settings say. One that fails is left out; throws
 * AppError('unavailable', 'search.unavailable') where none is left.
 */
export async function rankedLists(
  deps: Deps,
  { scope, embedder }: { scope: Omit<Scope, 'limit'>; embedder: Promise<Embedder | undefined> },
  query: SearchQuery,
): Promise<Ranked> {
  const asked = { ...scope, limit: CANDIDATES }
  // the words need no settings and nearly every mode needs the words, so they do not wait
  const searching = byWords(deps, asked, query)
  searching.catch(() => undefined) // nobody may be left to wait for it
  const reading = settingsOf(deps, scope.org)
  const nearing = reading.then((settings) =>
    byMeaning(deps, { scope: asked, embedder }, query, settings),
  )
  const [settings, meaning] = await Promise.all([reading, nearing])
  // in mode `vector` the words count only where the search by meaning did not run
  const words = settings.mode === 'vector' && meaning ? undefined : await searching
  const lists = listsOf(words, meaning)
  if (lists.length === 0) throw unavailable()
  return { settings, lists, dense: meaning !== undefined }
}

async function byWords({ index, legs }: Deps, scope: Scope, { query }: SearchQuery) {
  const hits = await legs.words.run(() => index.searchText({ ...scope, query }))
  return hits && idsOf(hits)
}

/** The nearest passages by the caller's own vector, else by the embedder's; nothing where neither is to be had or wanted. */
async function byMeaning(
  { index, legs }: Deps,
  { scope, embedder }: { scope: Scope; embedder: Promise<Embedder | undefined> },
  query: SearchQuery,
  { mode, max_distance: maxDistance }: KnowledgeSettings,
): Promise<RankedList | undefined> {
  const found = mode === 'text' ? undefined : await vectorOf(await embedder, query)
  if (!found) return undefined
  const { weight, ...near } = found
  const hits = await legs.meaning.run(() => index.searchVector({ ...scope, ...near, maxDistance }))
  return hits && { ids: idsOf(hits), weight }
}

async function vectorOf(embedder: Embedder | undefined, query: SearchQuery) {
  const { embedding, embedding_model: model } = query
  if (embedding && model !== undefined) {
    const weight = embedder?.model === model ? embedder.weight : 1
    return { vector: Float32Array.from(embedding), model, weight }
  }
  const vector = await embedder?.query(query.query)
  return embedder && vector && { vector, model: embedder.model, weight: embedder.weight }
}

/** The embedder of the org's searches. While nobody knows which it has, the words must do. */
export function embedderFor({ searchEmbedderOf }: Deps, orgId: number) {
  const embedder = searchEmbedderOf(orgId).catch((error: unknown) => {
    if (!(error instanceof AppError)) throw error
    return undefined
  })
  embedder.catch(() => undefined) // nobody may be left to wait for it
  return embedder
}

/** Weights are for lists beside each other. */
function listsOf(words: string[] | undefined, meaning: RankedList | undefined): RankedList[] {
  if (words && meaning) return [{ ids: words, weight: 1 }, meaning]
  const ids = words ?? meaning?.ids
  return ids ? [{ ids, weight: 1 }] : []
}

const idsOf = (hits: readonly Hit[]) => hits.map(({ id }) => id)

const unavailable = () =>
  new AppError(
    'unavailable',
    'search.unavailable',
    'The search by words does not answer at the moment, and none by meaning can stand in for it. Nothing is lost: try again in a minute.',
    { retryAfter: RETRY_SECONDS },
  )
