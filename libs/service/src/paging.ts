import { createHash } from 'node:crypto'
import { AppError } from './errors.ts'

interface Asked {
  limit: number
  cursor: string | undefined
  /** What a cursor counts for: the route and its filters, the org among them. */
  bound: unknown
}

/**
 * One page of a list with keyset paging: `read` gets one row more than asked for, to know whether there is
 * a next page. A row's `key` (its id where nothing is said) is what the cursor holds.
 * Throws `cursor.invalid` for a cursor of another list.
 */
export async function pageOf<T>(
  { limit, cursor, bound }: Asked,
  read: (page: { before: string | undefined; limit: number }) => Promise<T[]>,
  key: (item: T) => string = (item) => (item as { id: string }).id,
): Promise<{ items: T[]; next_cursor: string | null }> {
  const before = cursor && openCursor(cursor, bound)
  const rows = await read({ before, limit: limit + 1 }).catch((cause) => {
    throw before && isDataException(cause) ? invalid(cause) : cause
  })
  const items = rows.slice(0, limit)
  const last = items.at(-1)
  const more = rows.length > limit && last !== undefined
  return { items, next_cursor: more ? makeCursor(key(last), bound) : null }
}

const makeCursor = (key: string, bound: unknown) =>
  Buffer.from(JSON.stringify([key, marker(bound)])).toString('base64url')

function openCursor(cursor: string, bound: unknown): string {
  try {
    const [key, marked] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as [
      unknown,
      unknown,
    ]
    if (typeof key === 'string' && marked === marker(bound)) return key
  } catch (cause) {
    throw invalid(cause)
  }
  throw invalid()
}

/** SQLSTATE class 22: a cursor is no secret, so its key may have been made up and be no id or time. */
const isDataException = ({ code }: { code?: unknown }) => /^22[0-9A-Z]{3}$/.test(String(code))

const marker = (bound: unknown) =>
  createHash('sha256').update(JSON.stringify(bound)).digest('base64url').slice(0, 16)

const invalid = (cause?: unknown) =>
  new AppError(
    'invalid',
    'cursor.invalid',
    'The cursor is not of this list; ask for the first page again',
    { cause },
  )
