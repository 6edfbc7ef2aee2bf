import { BooleanQuery, type FullTextQuery, MatchQuery, Occur, PhraseQuery } from '@lancedb/lancedb'
import type { ParsedQuery, Term } from './query.ts'

/** Word lengths from which one and two letters may be wrong: the customary steps of Lucene's AUTO are 3 and 6. */
const ONE_WRONG_FROM = 4
const TWO_WRONG_FROM = 6
/** Longer ones are keys and hashes: nobody mistypes them, and LanceDB refuses to look for their like. */
const MISTYPED_UNTIL = 24

type Clause = [Occur, FullTextQuery]

/** The query for what was typed; null if nothing in it can be found, as in a query of exclusions only. */
export function exactQuery({ words, required, excluded }: ParsedQuery): FullTextQuery | null {
  const wanted: Clause[] = required.map((group) => [Occur.Must, anyOf(group.map(termQuery))])
  if (words.length > 0) wanted.push([Occur.Should, new MatchQuery(words.join(' '), 'text')])
  return wanted.length > 0 ? new BooleanQuery([...wanted, ...exclusions(excluded)]) : null
}

/** The query for likely spellings of words that may be mistyped, which the stemmed column cannot give: a slip changes the stem as well. */
export function spellingQuery(
  words: readonly string[],
  excluded: readonly Term[],
): FullTextQuery | null {
  const likely = words
    .filter(({ length }) => length <= MISTYPED_UNTIL)
    .map((word): Clause => {
      const query = new MatchQuery(word, 'words', { fuzziness: fuzziness(word) })
      return [Occur.Should, query]
    })
  if (likely.length === 0) return null
  return new BooleanQuery([...likely, ...exclusions(excluded)])
}

const exclusions = (terms: readonly Term[]): Clause[] =>
  terms.map((term) => [Occur.MustNot, termQuery(term)])

const termQuery = (term: Term): FullTextQuery =>
  'phrase' in term ? new PhraseQuery(term.phrase, 'text') : new MatchQuery(term.word, 'text')

const anyOf = (queries: FullTextQuery[]): FullTextQuery =>
  new BooleanQuery(queries.map((query): Clause => [Occur.Should, query]))

function fuzziness({ length }: string): number {
  if (length >= TWO_WRONG_FROM) return 2
  return length >= ONE_WRONG_FROM ? 1 : 0
}
