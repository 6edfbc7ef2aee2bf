import { createHash } from 'node:crypto'
import { orgId, type Scope } from './index.ts'
import { parseQuery, type Term } from './query.ts'

/** Meilisearch reads no more words of a query. */
const MOST_WORDS = 10
/** Alternatives of phrases that are asked side by side. */
const MOST_ALTERNATIVES = 8

/** One of the queries that are asked at once; those with fewer of the words count less. */
export interface Branch {
  q: string
  weight: number
}

const WHOLE = 1
/** Below half, so that a row with one word never comes before a row with all. */
const ONE_WORD = 0.25

/**
 * A query as Meilisearch understands it. Its own strategies drop words in one order only, so each word is asked by
 * itself too: words are alternatives. Empty where nothing is wanted, as Meilisearch would then answer every row.
 */
export function branchesOf(query: string): Branch[] {
  const { words, required, excluded } = parseQuery(query)
  const wanted = words.slice(0, MOST_WORDS)
  const without = excluded.map((term) => `-${quotedTerm(term)}`)
  const branch = (weight: number, ...parts: string[]) => ({
    q: [...parts, ...without].join(' '),
    weight,
  })
  if (required.length > 0)
    return alternatives(required).map((phrases) => branch(WHOLE, ...phrases, ...wanted))
  if (wanted.length === 0) return []
  const whole = branch(WHOLE, ...wanted)
  return wanted.length === 1 ? [whole] : [whole, ...wanted.map((word) => branch(ONE_WORD, word))]
}

/** Every choice of one term from each group. */
function alternatives(groups: readonly Term[][]): string[][] {
  const start: string[][] = [[]]
  return groups.reduce(
    (chosen, group) =>
      chosen
        .flatMap((terms) => group.map((term) => [...terms, quotedTerm(term)]))
        .slice(0, MOST_ALTERNATIVES), // at each step: all of them would double with every group
    start,
  )
}

/** In quotes Meilisearch neither drops nor corrects it. The parser left letters, digits and spaces only. */
const quotedTerm = (term: Term) => `"${'phrase' in term ? term.phrase : term.word}"`

/** The filter for rows that a search may see. */
export function visible({ org, publishers, category }: Omit<Scope, 'limit'>): string[] {
  const own = `org = ${orgId(org)}`
  const others = `public = true AND org IN [${publishers.map(orgId).join(', ')}]`
  const seen = publishers.length > 0 ? `${own} OR (${others})` : own
  return category === undefined ? [seen] : [seen, `category = ${categoryKey(category)}`]
}

/**
 * What stands for a category: Meilisearch compares texts without regard to case, and its filters cannot say a
 * backslash before a quote.
 */
export const categoryKey = (category: string) => createHash('sha256').update(category).digest('hex')
