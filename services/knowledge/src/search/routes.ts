import { search } from '@guildhall/contracts/knowledge'
import type { App } from '@guildhall/service/app'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { fuse } from './fuse.ts'
import { candidates, neighbours } from './queries.ts'
import { spansOf, textOf, withoutSummarised } from './rules.ts'

/** Candidates a leg (decisions.md § 3). */
const CANDIDATES = 50
/** Defaults of interface.md, Org knowledge settings. */
const TOP_K = 8
const RRF_K = 60

type Asked = z.output<typeof search.body>

export function searchRoutes(app: App, deps: Deps) {
  const { db, index, config, log } = deps

  app.implement(search, async ({ org, body }) => {
    const { query, category, top_k = TOP_K, window = 0 } = body
    const scope = { org: org.id, category, limit: CANDIDATES }
    const [byText, byVector] = await Promise.all([
      index.searchText({ ...scope, query }),
      searchVectors(body, scope),
    ])
    const ids = (hits: readonly { id: string }[]) => hits.map(({ id }) => id)
    const fused = fuse([ids(byText), ids(byVector ?? [])], RRF_K)
    const rows = await candidates(db, ids(fused), org.id, category)
    const byId = new Map(rows.map((row) => [row.id, row]))
    const ranked = withoutSummarised(fused.flatMap(({ id }) => byId.get(id) ?? []))
    const near = window > 0 ? await neighbours(db, ids(ranked), window) : []
    const scores = new Map(fused.map(({ id, score }) => [id, score]))
    const results = spansOf(ranked, near, top_k).map((span) => {
      const { id, source_key, title, url, category, public: isPublic, fetched_at } = span.candidate
      const labels = { chunk_id: id, source_key, title, url, category, public: isPublic }
      return {
        ...labels,
        content: textOf(span),
        score: scores.get(id) ?? 0,
        fetched_at: fetched_at.toISOString(),
      }
    })
    return { results, dense: byVector !== undefined }
  })

  /** Nothing where the vector search cannot run: the text search stands alone then. */
  async function searchVectors(
    asked: Asked,
    scope: { org: number; category: string | undefined; limit: number },
  ) {
    const made = await queryVector(asked)
    return (
      made && index.searchVector({ ...scope, ...made, maxDistance: config.KNOWLEDGE_MAX_DISTANCE })
    )
  }

  async function queryVector({ query, embedding, embedding_model }: Asked) {
    if (embedding && embedding_model)
      return { vector: Float32Array.from(embedding), model: embedding_model }
    const { embedder } = deps
    if (!embedder) return undefined
    try {
      return { vector: await embedder.embedQuery(query), model: embedder.model }
    } catch (error) {
      log.warn({ err: error }, 'The embedder does not answer; searching by words alone')
      return undefined
    }
  }
}
