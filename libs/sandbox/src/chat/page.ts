import { z } from 'zod'

export const Snowflake = z.string().regex(/^(0|[1-9][0-9]{0,19})$/)

/** Which part of a list is asked for, by id; `most` and `usual` as the route has them. */
export const page = (most: number, usual: number) => ({
  limit: z.coerce.number().int().min(1).max(most).default(usual),
  after: Snowflake.default('0'),
})

/** The rows after an id, the oldest first, as many as asked for. */
export function pageOf<T>(
  rows: readonly T[],
  idOf: (row: T) => string,
  { after, limit }: { after: string; limit: number },
): T[] {
  return rows
    .filter((row) => isNewer(idOf(row), after))
    .toSorted((a, b) => (isNewer(idOf(a), idOf(b)) ? 1 : -1))
    .slice(0, limit)
}

/** Ids hold their time in the upper bits: a larger one is newer. They do not fit a number. */
const isNewer = (id: string, than: string) => BigInt(id) > BigInt(than)
