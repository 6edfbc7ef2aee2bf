/** What one search found, best first, and how much it counts: 1, or less if it is trusted less. */
export interface RankedList {
  ids: readonly string[]
  weight: number
}

export interface Fused {
  id: string
  score: number
}

/**
 * Reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009): each list adds weight/(k + rank) to its ids, ranks from 1.
 * Best first; of a tie the one that an earlier list holds, so give the list that is trusted more first. An id that a list
 * holds twice counts at its first place.
 */
export function fuse(lists: readonly RankedList[], k: number): Fused[] {
  const scores = new Map<string, number>()
  for (const { ids, weight } of lists) {
    for (const [index, id] of [...new Set(ids)].entries()) {
      scores.set(id, (scores.get(id) ?? 0) + weight / (k + index + 1))
    }
  }
  return [...scores].map(([id, score]) => ({ id, score })).sort((a, b) => b.score - a.score) // stable: a map keeps the order in which its keys came
}
