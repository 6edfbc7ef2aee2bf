import type { Db } from '@guildhall/knowledge/db'
import { quantile } from './children.ts'
import {
  ORGS,
  orgOf,
  PASSAGES_OF_SOURCE,
  PUBLISHER,
  queryVector,
  vectorOf,
} from './knowledge-data.ts'
import type { Asked } from './knowledge-questions.ts'

const BEST = 10

/** The numbers of the ten nearest passages that each question's org sees, by comparing with every one in memory; and what that cost. */
export function exactNearest(passages: number, asked: readonly Asked[]) {
  const ofOrg = new Map<number, { ids: number[]; vectors: Float32Array[] }>()
  for (let org = 1; org <= ORGS; org++) ofOrg.set(org, { ids: [], vectors: [] })
  for (let passage = 0; passage < passages; passage++) {
    const own = ofOrg.get(orgOf(Math.floor(passage / PASSAGES_OF_SOURCE)))
    own?.ids.push(passage)
    own?.vectors.push(vectorOf(passage))
  }
  const ms: number[] = []
  const nearest = asked.map(({ n, org, passage }) => {
    const query = queryVector(passage, n)
    const began = performance.now()
    const seen = [...new Set([org, PUBLISHER])].flatMap((id) => {
      const { ids = [], vectors = [] } = ofOrg.get(id) ?? {}
      return vectors.map((vector, i) => ({ passage: ids[i] ?? -1, near: dot(query, vector) }))
    })
    const best = seen.sort((a, b) => b.near - a.near).slice(0, BEST)
    ms.push(performance.now() - began)
    return best.map((row) => row.passage)
  })
  return { nearest, times: { p50: quantile(ms, 0.5), p99: quantile(ms, 0.99) } }
}

/** The share of the ten nearest that are among the first ten found. */
export async function recall(
  db: Db,
  found: readonly string[][],
  nearest: readonly number[][],
): Promise<number> {
  const rows = await db
    .selectFrom('chunks')
    .innerJoin('versions', 'versions.id', 'version_id')
    .innerJoin('sources', 'sources.id', 'source_id')
    .select(['chunks.id', 'key', 'ordinal'])
    .execute()
  const numbers = new Map(
    rows.map(({ id, key, ordinal }) => [
      id,
      Number(key.split('-')[1]) * PASSAGES_OF_SOURCE + ordinal,
    ]),
  )
  const shares = nearest.map((wanted, n) => {
    const first = new Set(found[n]?.slice(0, BEST).map((id) => numbers.get(id)))
    return wanted.filter((passage) => first.has(passage)).length / wanted.length
  })
  return shares.reduce((sum, share) => sum + share, 0) / shares.length
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += (a[i] ?? 0) * (b[i] ?? 0)
  return sum
}
