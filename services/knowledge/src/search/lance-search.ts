import { type FullTextQuery, MatchQuery, type Table } from '@lancedb/lancedb'
import { type Hit, orgId, type Scope, type TextQuery, type VectorQuery } from './index.ts'
import { exactQuery, spellingQuery } from './lance-text.ts'
import { parseQuery } from './query.ts'

/** Cells of the vector index. All are searched, so that what is found does not hang on how well the vectors cluster. */
export const CELLS = 64
/** Exact distances are computed for this many times the limit, because the index holds a bit a dimension. */
const REFINE = 4
/** And for so many at least: of few candidates too many are the wrong ones. */
const LEAST_REFINED = 200

/** Words of one query that are looked for in other spellings: each costs a search, and some 10 ms for its likes. */
const MOST_CORRECTED = 4

/** The rows that hold the words of a query, and those with likely spellings of words that no row holds. */
export async function searchText(table: Table, query: TextQuery): Promise<Hit[]> {
  const parsed = parseQuery(query.query)
  const exact = exactQuery(parsed)
  const found = exact ? await matches(table, exact, query) : []
  if (found.length >= query.limit || parsed.required.length > 0) return found.map(hit)
  const unknown = await unknownWords(table, parsed.words, found, query)
  const spelling = spellingQuery(unknown, parsed.excluded)
  const likely = spelling ? await matches(table, spelling, query) : []
  const seen = new Set(found.map(({ id }) => id))
  return [...found, ...likely.filter(({ id }) => !seen.has(id))].slice(0, query.limit).map(hit)
}

/**
 * Words that no row in sight holds: only these are taken for misspelt, so that a right word brings no
 * look-alikes. Most stand in the rows found already; only the others are looked for.
 */
async function unknownWords(
  table: Table,
  words: readonly string[],
  found: readonly Ranked[],
  query: TextQuery,
): Promise<string[]> {
  const held = new Set(found.flatMap((row) => row.words.split(' ')))
  const asked = words.filter((word) => !held.has(word.toLowerCase())).slice(0, MOST_CORRECTED)
  const hits = await Promise.all(
    asked.map((word) => matches(table, new MatchQuery(word, 'text'), { ...query, limit: 1 })),
  )
  return asked.filter((_, index) => hits[index]?.length === 0)
}

async function matches(table: Table, text: FullTextQuery, query: TextQuery): Promise<Ranked[]> {
  const rows = await table
    .query()
    .fullTextSearch(text)
    .where(visible(query))
    .select(['id', 'version', 'words', '_score'])
    .limit(query.limit)
    .toArray()
  return ranked(rows, (row) => -row._score)
}

/** The rows whose vectors are nearest, by the vector index where there is one and else exactly. */
export async function searchVector(table: Table, query: VectorQuery): Promise<Hit[]> {
  const rows = await table
    .vectorSearch(query.vector)
    .distanceType('cosine')
    .nprobes(CELLS)
    .refineFactor(Math.max(REFINE, Math.ceil(LEAST_REFINED / query.limit)))
    .where(`(${visible(query)}) and model = ${quoted(query.model)}`)
    .select(['id', 'version', '_distance'])
    .limit(query.limit)
    .toArray()
  const near = rows.filter((row) => row._distance <= query.maxDistance)
  return ranked(near, (row) => row._distance).map(hit)
}

type Ranked = Hit & { words: string; _score: number; _distance: number }

const hit = ({ id, version }: Ranked): Hit => ({ id, version })

const ranked = (rows: Ranked[], cost: (row: Ranked) => number): Ranked[] =>
  rows.sort((a, b) => cost(a) - cost(b) || (a.id < b.id ? -1 : 1))

function visible({ org, publishers, category }: Scope): string {
  const own = `org = ${orgId(org)}`
  const listed = publishers.map(orgId).join(', ')
  const seen = listed ? `(${own} or (public = true and org in (${listed})))` : own
  return category === undefined ? seen : `${seen} and category = ${quoted(category)}`
}

/** A string literal of LanceDB's SQL. */
export const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`
