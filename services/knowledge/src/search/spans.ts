import type { Passage } from './queries.ts'

export type RankedPassage = Passage & { score: number }

/** What one result shows: its best passage, and the places of the page text around it. */
export interface Span {
  best: RankedPassage
  /** Places, both inclusive; `last` may lie beyond the end of the text. A summary has neither: −1. */
  first: number
  last: number
}

/** Without the rows whose summary ranks higher, and the rows below those. `ranked` is best first. */
export function withoutCovered(ranked: readonly RankedPassage[]): RankedPassage[] {
  const above = new Set<string>()
  return ranked.filter(({ version_id, ordinal, parent_ordinal }) => {
    const covered = above.has(`${version_id} ${parent_ordinal}`)
    above.add(`${version_id} ${ordinal}`)
    return !covered
  })
}

/**
 * The `most` best results, best first. Page text takes `window` rows on each side; spans that overlap become one at the place
 * of the better, and further rows take the place of what was merged.
 */
export function spansOf(
  ranked: readonly RankedPassage[],
  { window, most }: { window: number; most: number },
): Span[] {
  let spans: Span[] = []
  for (const best of ranked) {
    if (spans.length === most) break
    spans = joined(spans, spanOf(best, window))
  }
  return spans
}

function spanOf(best: RankedPassage, window: number): Span {
  if (best.place === null) return { best, first: -1, last: -1 }
  return { best, first: Math.max(0, best.place - window), last: best.place + window }
}

/** Adds a span of lower rank. One that bridges two makes all three one. */
function joined(spans: readonly Span[], next: Span): Span[] {
  const touching = spans.filter((span) => overlap(span, next))
  const [better] = touching
  if (!better) return [...spans, next]
  const all = [...touching, next]
  const whole = {
    best: better.best,
    first: Math.min(...all.map(({ first }) => first)),
    last: Math.max(...all.map(({ last }) => last)),
  }
  return spans.flatMap((span) => {
    if (span === better) return whole
    return touching.includes(span) ? [] : span
  })
}

const overlap = (a: Span, b: Span) =>
  a.best.version_id === b.best.version_id &&
  a.first >= 0 &&
  b.first >= 0 &&
  a.first <= b.last &&
  b.first <= a.last
