import type { SearchResult, search } from '@guildhall/contracts/knowledge'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { fuse } from './fuse.ts'
import type { Scope } from './index.ts'
import { textsOfSpans, visiblePassages } from './queries.ts'
import { joinedText, type Span, spansOf, withoutCovered } from './spans.ts'

/** Hits that each of the two searches gives to the fusion (decisions.md § 3). */
const CANDIDATES = 50
/** What holds where the caller says nothing (interface.md, Org knowledge settings). */
const DEFAULTS = { top_k: 8, window: 0, rrf_k: 60 }

export type Query = z.output<(typeof search)['body']>

/** Searches by words and by meaning at once. `dense` says whether the search by meaning ran. */
export async function findPassages(
  deps: Deps,
  org: { id: number },
  query: Query,
): Promise<{ results: SearchResult[]; dense: boolean }> {
  const { db, index, publishers } = deps
  const { top_k = DEFAULTS.top_k, window = DEFAULTS.window, category } = query
  const scope = { org: org.id, publishers: await publishers(), category, limit: CANDIDATES }
  const [byText, byMeaning] = await Promise.all([
    index.searchText({ ...scope, query: query.query }),
    nearest(deps, scope, query),
  ])
  const legs = [byText, byMeaning ?? []].map((hits) => hits.map(({ id }) => id))
  const fused = fuse(legs, DEFAULTS.rrf_k)
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

/** The nearest passages by the caller's own vector, else by the embedder's; nothing where neither is to be had. */
async function nearest(
  { index, embedder, config }: Deps,
  scope: Scope,
  { query, embedding, embedding_model }: Query,
) {
  const vector = embedding ? Float32Array.from(embedding) : await embedder?.query(query)
  const model = embedding ? embedding_model : embedder?.model
  if (!vector || model === undefined) return undefined
  const maxDistance = config.KNOWLEDGE_MAX_DISTANCE
  return index.searchVector({ ...scope, vector, model, maxDistance })
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
