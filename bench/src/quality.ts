import type { SearchQuery } from '@guildhall/contracts/knowledge'
import type { Deps } from '@guildhall/knowledge/deps'
import { findPassages } from '@guildhall/knowledge/search/find'
import { writeSource } from '@guildhall/knowledge/sources/write'
import { openKnowledge } from './knowledge-deps.ts'
import { withHome } from './knowledge-home.ts'
import { type Collection, readCollection } from './quality-collection.ts'
import { mean, ndcg, recall } from './quality-figures.ts'
import { vectorsOf } from './quality-vectors.ts'

const MODEL = 'demo'
/** As npm start sets it for the demo's model. */
const DEMO = {
  EMBEDDINGS_URL: 'http://127.0.0.1:9', // never asked: every vector is there
  EMBEDDINGS_MODEL: MODEL,
  EMBEDDINGS_WEIGHT: '0.2',
}
const ORG = { id: 1, prefix: 'demo', name: 'Demo Club', modules: [], publisher: false }
const BEST = 10
/** Documents written at once. */
const AT_ONCE = 8

/** `npm run bench quality <folder>`: how good the product's own search is on a judged collection. */
export async function benchQuality(folder: string) {
  const collection = await readCollection(folder)
  const { documents, queries } = collection
  const vectors = await vectorsOf([...documents, ...queries].map(({ text }) => text))
  await withHome(async (place) => {
    await using knowledge = await openKnowledge(place, DEMO)
    await write(knowledge, collection, vectors)
    await knowledge.index.upkeep()
    await show(knowledge, collection, vectors.slice(documents.length))
  })
}

async function write(knowledge: Deps, { documents }: Collection, vectors: Float32Array[]) {
  const by = { source: 'http', actor_kind: 'machine', actor_id: 'bench' } as const
  const left = [...documents.entries()]
  const writer = async () => {
    for (let next = left.pop(); next; next = left.pop()) {
      const [n, { id, text }] = next
      const labels = { key: id, category: 'docs', title: id, url: '', public: false }
      const passages = [{ ordinal: 0, level: 0, parent_ordinal: null, content: text }]
      const own = { model: MODEL, of: vectors.slice(n, n + 1) }
      await writeSource(knowledge, ORG, { ...labels, content_hash: id, passages, vectors: own }, by)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, writer))
}

async function show(knowledge: Deps, { queries }: Collection, vectors: Float32Array[]) {
  const { db, index, config } = knowledge
  const rows = await db
    .selectFrom('chunks')
    .innerJoin('sources', 'current_version_id', 'version_id')
    .select(['chunks.id', 'key'])
    .execute()
  const keys = new Map(rows.map(({ id, key }) => [id, key]))
  const find = async (query: SearchQuery) =>
    (await findPassages(knowledge, ORG, { ...query, top_k: BEST })).results.map(
      ({ source_key }) => source_key,
    )
  const legs = {
    text: (query: string) => find({ query }),
    vector: async (_: string, vector: Float32Array) => {
      const maxDistance = config.KNOWLEDGE_MAX_DISTANCE
      const scope = { org: ORG.id, publishers: [], limit: BEST }
      const hits = await index.searchVector({ ...scope, vector, model: MODEL, maxDistance })
      return hits.map(({ id }) => keys.get(id) ?? '')
    },
    hybrid: (query: string, vector: Float32Array) =>
      find({ query, embedding: [...vector], embedding_model: MODEL }),
  }
  const line = (...cells: unknown[]) => console.log(`| ${cells.join(' | ')} |`)
  line(`${queries.length} questions, ${keys.size} documents`, 'nDCG@10', 'recall@10')
  line('---', '---', '---')
  for (const [name, leg] of Object.entries(legs)) {
    const found: string[][] = []
    for (const [n, { text }] of queries.entries())
      found.push(await leg(text, vectors[n] ?? new Float32Array()))
    const all = (figure: typeof ndcg) =>
      mean(queries.map(({ grades }, n) => figure(found[n] ?? [], grades))).toFixed(3)
    line(name, all(ndcg), all(recall))
  }
}
