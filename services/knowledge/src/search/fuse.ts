export interface Fused {
  id: string
  score: number
}

/**
 * Reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009): each list adds 1/(k + rank) to its ids, ranks from 1.
 * Best first; of a tie the one that an earlier list holds, so give the list that is trusted more first. An id that a list
 * holds twice counts at its first place. A list of weight w adds w/(k + rank): one that is trusted less.
 */
export function fuse(
  lists: readonly (readonly string[])[],
  k: number,
  weights: readonly number[] = [],
): Fused[] {
  const scores = new Map<string, number>()
  for (const [n, list] of lists.entries()) {
    const weight = weights[n] ?? 1
    for (const [index, id] of [...new Set(list)].entries()) {
      scores.set(id, (scores.get(id) ?? 0) + weight / (k + index + 1))
    }
  }
  return [...scores].map(([id, score]) => ({ id, score })).sort((a, b) => b.score - a.score) // stable: a map keeps the order in which its keys came
}
