import type { SearchQuery, SearchResult } from '@guildhall/contracts/knowledge'
import type { Deps } from '../deps.ts'
import { embedderFor, rankedLists } from './candidates.ts'
import { fuse } from './fuse.ts'
import { textsOfSpans, visiblePassages } from './queries.ts'
import { type Span, spansOf, withoutCovered } from './spans.ts'

/**
 * Searches as the org's settings say, by words and by meaning at once. `dense` says whether the search by meaning ran.
 * Throws as `rankedLists` does.
 */
export async function findPassages(
  deps: Deps,
  org: { id: number },
  query: SearchQuery,
): Promise<{ results: SearchResult[]; dense: boolean }> {
  const { db, publishers } = deps
  const embedder = embedderFor(deps, org.id) // both may ask auth, so at once
  const scope = { org: org.id, publishers: await publishers(), category: query.category }
  const { settings, lists, dense } = await rankedLists(deps, { scope, embedder }, query)
  const { top_k = settings.top_k, window = settings.window } = query
  const fused = fuse(lists, settings.rrf_k)
  const ids = fused.map(({ id }) => id)
  const passages = ids.length > 0 ? await visiblePassages(db, scope, ids) : []
  const byId = new Map(passages.map((passage) => [passage.id, passage]))
  const ranked = fused.flatMap(({ id, score }) => {
    const passage = byId.get(id)
    return passage ? { ...passage, score } : []
  })
  const spans = spansOf(withoutCovered(ranked), { window, most: top_k })
  const texts = window > 0 && spans.length > 0 ? await textsOfSpans(db, spans) : []
  return { results: spans.map((span, n) => shown(span, texts[n] ?? [])), dense }
}

function shown({ best }: Span, texts: readonly string[]): SearchResult {
  return {
    chunk_id: best.id,
    source_key: best.key,
    title: best.title,
    url: best.url,
    category: best.category,
    public: best.public,
    content: texts.length > 1 ? texts.join('\n\n') : best.content,
    score: best.score,
    fetched_at: best.fetched_at.toISOString(),
  }
}
