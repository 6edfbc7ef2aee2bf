import { hasDirection } from '@guildhall/contracts/direction'

/** What rows look like in an index. Raised with every change of that; indexes of another layout are made again. */
export const LAYOUT = 'v1'
/** Names of generations: their layout, and some letters of their own. */
export const GENERATION = /^v\d+-[0-9a-f]{8}$/

/** A passage or summary as the index holds it. The database holds the truth; the index can be made again from it. */
export interface IndexRow {
  id: string
  org: number
  public: boolean
  category: string
  /** The source's version it belongs to; versions are removed whole. */
  version: string
  level: number
  /** What made the vector; null exactly if there is none. */
  model: string | null
  text: string
  vector: Float32Array | null
}

/** Sees rows of `org` and public rows of `publishers`, in `category` if given. */
export interface Scope {
  org: number
  publishers: readonly number[]
  category?: string | undefined
  limit: number
}

export interface TextQuery extends Scope {
  /** As typed: words, "phrases", -exclusions, OR (query.ts). */
  query: string
}

export interface VectorQuery extends Scope {
  vector: Float32Array
  /** Only rows whose vector this model made. */
  model: string
  /** Cosine distance, 0 to 2; farther rows are left out. */
  maxDistance: number
}

export interface Hit {
  id: string
  version: string
}

/** The row as drivers store it: a vector without a direction would be near to nothing, and an index of such cannot be made. */
export const storable = (row: IndexRow): IndexRow =>
  row.vector && !hasDirection(row.vector) ? { ...row, model: null, vector: null } : row

/**
 * What a search engine does for knowledge. Every driver passes conformance.ts.
 * Searches see rows as soon as `write` has resolved; hits come best first, ties by id; filters apply before `limit`.
 * Throws AppError('unavailable', 'search_index.unreadable' | 'search_index.closed').
 */
export interface PassageIndex {
  /** True if the index was empty when opened: its owner then writes all current versions again. */
  readonly created: boolean
  /** Adds rows and replaces those of the same id, so a failed write can be repeated and labels changed. */
  write(rows: readonly IndexRow[]): Promise<void>
  remove(org: number, versions: readonly string[]): Promise<void>
  /**
   * Ranked by the words; accents and case do not matter, and a word found nowhere is read as its likely spelling. Word
   * forms do not matter in the embedded index; Meilisearch knows only beginnings of words (conformance-words.ts).
   */
  searchText(query: TextQuery): Promise<Hit[]>
  searchVector(query: VectorQuery): Promise<Hit[]>
  /** Keeps searches fast and the disk small; to be called from time to time. Spelling help covers all rows after it. */
  upkeep(): Promise<void>
  /** Finishes the work in hand. */
  close(): Promise<void>
}

/** The id of an org for a driver's filter: a whole number needs no quoting. */
export function orgId(value: number): number {
  if (Number.isInteger(value)) return value
  throw new TypeError(`${value} is not an org id`)
}
