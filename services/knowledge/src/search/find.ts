import type { KnowledgeSettings, SearchQuery, SearchResult } from '@guildhall/contracts/knowledge'
import { AppError } from '@guildhall/service/errors'
import type { Deps } from '../deps.ts'
import { settingsOf } from '../settings/effective.ts'
import { fuse } from './fuse.ts'
import type { Hit, Scope } from './index.ts'
import { textsOfSpans, visiblePassages } from './queries.ts'
import { joinedText, type Span, spansOf, withoutCovered } from './spans.ts'

/** Hits that each of the two searches gives to the fusion (decisions.md § 3). */
const CANDIDATES = 50

/** Searches as the org's settings say, by words and by meaning at once. `dense` says whether the search by meaning ran. */
export async function findPassages(
  deps: Deps,
  org: { id: number },
  query: SearchQuery,
): Promise<{ results: SearchResult[]; dense: boolean }> {
  const { db, index, publishers } = deps
  const scope = { org: org.id, publishers: await publishers(), category: query.category }
  const asked = { ...scope, limit: CANDIDATES }
  const reading = settingsOf(deps, org.id)
  // the words need no settings and nearly every mode needs the words, so they do not wait
  const [settings, byText, byMeaning] = await Promise.all([
    reading,
    index.searchText({ ...asked, query: query.query }),
    nearest(deps, asked, query, reading),
  ])
  const { top_k = settings.top_k, window = settings.window } = query
  const { legs, weights } = legsOf(settings, byText, byMeaning)
  const fused = fuse(legs, settings.rrf_k, weights)
  const ids = fused.map(({ id }) => id)
  const passages = ids.length > 0 ? await visiblePassages(db, scope, ids) : []
  const byId = new Map(passages.map((passage) => [passage.id, passage]))
  const ranked = fused.flatMap(({ id, score }) => {
    const passage = byId.get(id)
    return passage ? { ...passage, score } : []
  })
  const spans = spansOf(withoutCovered(ranked), { window, most: top_k })
  const texts = window > 0 && spans.length > 0 ? await textsOfSpans(db, spans) : []
  const results = spans.map((span, n) => shown(span, texts[n] ?? []))
  return { results, dense: byMeaning !== undefined }
}

/** In mode `vector` the words count only where the search by meaning did not run. */
function legsOf({ mode }: KnowledgeSettings, byText: Hit[], byMeaning: Near | undefined) {
  const idsOf = (hits: Hit[]) => hits.map(({ id }) => id)
  if (!byMeaning) return { legs: [idsOf(byText)], weights: [1] }
  if (mode === 'vector') return { legs: [idsOf(byMeaning.hits)], weights: [1] }
  return { legs: [idsOf(byText), idsOf(byMeaning.hits)], weights: [1, byMeaning.weight] }
}

/** What the search by meaning found, and how much it counts beside the words. */
interface Near {
  hits: Hit[]
  weight: number
}

/** The nearest passages by the caller's own vector, else by the embedder's; nothing where neither is to be had or wanted. */
async function nearest(
  deps: Deps,
  scope: Scope,
  query: SearchQuery,
  reading: Promise<KnowledgeSettings>,
): Promise<Near | undefined> {
  const { mode, max_distance: maxDistance } = await reading
  const found = mode === 'text' ? undefined : await vectorOf(deps, scope.org, query)
  if (!found) return undefined
  const { weight, ...near } = found
  return { hits: await deps.index.searchVector({ ...scope, ...near, maxDistance }), weight }
}

async function vectorOf({ embedderOf }: Deps, orgId: number, query: SearchQuery) {
  const { embedding, embedding_model: model } = query
  const embedder = await embedderOf(orgId).catch(noneForNow)
  if (embedding && model !== undefined) {
    const weight = embedder?.model === model ? embedder.weight : 1
    return { vector: Float32Array.from(embedding), model, weight }
  }
  const vector = await embedder?.query(query.query)
  return embedder && vector && { vector, model: embedder.model, weight: embedder.weight }
}

/** While nobody knows which embedder the org has, the words must do. */
function noneForNow(error: unknown): undefined {
  if (!(error instanceof AppError)) throw error
}

function shown({ best }: Span, texts: readonly string[]): SearchResult {
  return {
    chunk_id: best.id,
    source_key: best.key,
    title: best.title,
    url: best.url,
    category: best.category,
    public: best.public,
    content: texts.length > 1 ? joinedText(texts, best.title) : best.content,
    score: best.score,
    fetched_at: best.fetched_at.toISOString(),
  }
}
