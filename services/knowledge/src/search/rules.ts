import type { Candidate, Neighbour } from './queries.ts'

/** Ranked rows, without those whose summary ranks higher (interface.md, Search rules 4). */
export function withoutSummarised<
  T extends Pick<Candidate, 'version_id' | 'ordinal' | 'parent_ordinal'>,
>(ranked: readonly T[]): T[] {
  const seen = new Set<string>()
  return ranked.filter(({ version_id, ordinal, parent_ordinal }) => {
    const summarised = parent_ordinal !== null && seen.has(`${version_id} ${parent_ordinal}`)
    if (!summarised) seen.add(`${version_id} ${ordinal}`)
    return !summarised
  })
}

export interface Span {
  /** The best row in it. */
  candidate: Candidate
  /** Ordinal to text. */
  rows: Map<number, string>
}

/**
 * The first `top` ranked rows with their neighbours. A row whose span meets that of a better one joins it,
 * and the list is filled from further down.
 */
export function spansOf(
  ranked: readonly Candidate[],
  near: readonly Neighbour[],
  top: number,
): Span[] {
  const rowsOf = Map.groupBy(near, ({ of }) => of)
  const spans: Span[] = []
  for (const candidate of ranked) {
    const own = rowsOf.get(candidate.id) ?? [
      { ordinal: candidate.ordinal, content: candidate.content },
    ]
    const rows = new Map(own.map(({ ordinal, content }) => [ordinal, content]))
    const met =
      candidate.level === 0 ? spans.find((span) => meets(span, candidate, rows)) : undefined
    if (met) for (const [ordinal, content] of rows) met.rows.set(ordinal, content)
    else if (spans.length < top) spans.push({ candidate, rows })
  }
  return spans
}

function meets({ candidate, rows }: Span, other: Candidate, others: Map<number, string>) {
  if (candidate.version_id !== other.version_id || candidate.level !== 0) return false
  return [...others.keys()].some((ordinal) => rows.has(ordinal))
}

/** The text of a span in the order of the page; the title line stands once. */
export function textOf({ candidate: { title }, rows }: Span): string {
  const texts = [...rows].sort(([a], [b]) => a - b).map(([, content]) => content)
  const head = `${title}\n`
  return texts
    .map((text, i) => (i > 0 && text.startsWith(head) ? text.slice(head.length).trimStart() : text))
    .join('\n')
}
