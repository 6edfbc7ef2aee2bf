import { randomUUID } from 'node:crypto'
import type { Hit, IndexRow, PassageIndex } from './index.ts'

const DIMENSIONS = 1024

export function passage(text: string, rest: Partial<IndexRow> = {}): IndexRow {
  return {
    id: randomUUID(),
    org: 1,
    public: false,
    category: 'docs',
    version: randomUUID(),
    level: 0,
    model: null,
    text,
    vector: null,
    ...rest,
  }
}

/** A unit vector at this angle from [1, 0, 0, …]: the cosine distance of two is 1 − cos of their difference. */
export function vectorAt(degrees: number): Float32Array {
  const vector = new Float32Array(DIMENSIONS)
  vector[0] = Math.cos((degrees * Math.PI) / 180)
  vector[1] = Math.sin((degrees * Math.PI) / 180)
  return vector
}

/** A row with a vector of this angle. */
export const pointing = (degrees: number, rest: Partial<IndexRow> = {}) =>
  passage(`at ${degrees}`, { model: 'm1', vector: vectorAt(degrees), ...rest })

export const idsOf = (rows: (Hit | IndexRow)[]) => rows.map(({ id }) => id)

/** What a search by words finds for org 1. */
export const text = (index: PassageIndex, query: string, rest = {}) =>
  index.searchText({ org: 1, publishers: [2], query, limit: 50, ...rest })

/** What a search by a vector of this angle finds for org 1. */
export const near = (index: PassageIndex, degrees: number, rest = {}) =>
  index.searchVector({
    org: 1,
    publishers: [2],
    vector: vectorAt(degrees),
    model: 'm1',
    maxDistance: 2,
    limit: 50,
    ...rest,
  })

/** Registers one test on an index of its own. */
export type Check = (sentence: string, run: (index: PassageIndex) => Promise<void>) => void
