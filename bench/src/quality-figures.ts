/** Judged grades of one question: document to grade, 0 or none where it does not answer. */
export type Grades = ReadonlyMap<string, number>

const BEST = 10

/** Normalised discounted cumulative gain of the first ten, with the gain 2^grade − 1 (Burges et al., ICML 2005). */
export function ndcg(found: readonly string[], grades: Grades): number {
  const ideal = gain([...grades.values()].sort((a, b) => b - a))
  return ideal === 0 ? 0 : gain(found.map((id) => grades.get(id) ?? 0)) / ideal
}

/** The share of the documents that answer which is among the first ten. */
export function recall(found: readonly string[], grades: Grades): number {
  const answers = [...grades].filter(([, grade]) => grade > 0).map(([id]) => id)
  const first = new Set(found.slice(0, BEST))
  return answers.filter((id) => first.has(id)).length / answers.length
}

const gain = (grades: number[]) =>
  grades.slice(0, BEST).reduce((sum, grade, n) => sum + (2 ** grade - 1) / Math.log2(n + 2), 0)

export const mean = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + value, 0) / values.length
