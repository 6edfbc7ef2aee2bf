/** A kind of write that the load repeats, and how one finds out what became of it. */
export interface Kind {
  name: string
  /**
   * Does the nth write, and answers by what it is known once it is acknowledged; nothing where the answer leaves
   * open whether it happened. Throws on any other answer.
   */
  write(n: number): Promise<string | undefined>
  /** Those that the route of their owner shows, as often as it shows them. Nothing where the answer was all. */
  held?(): Promise<string[]>
  /** The audit line of each, and the field of its details that says by what the write is known. */
  audit?: { action: string; by: string }
  /** Sent again under its Idempotency-Key until it is acknowledged: it must be there exactly once. */
  once?: true
  /** Each replaces the one before. What they are known by ends with their number. */
  replaces?: true
  /** Of more than so many the oldest is removed; without `remove` no more are written. */
  most?: number
  remove?(id: string): Promise<boolean>
  /** Milliseconds from an answer to the next write. */
  restMs?: number
  /** What is wrong besides, in sentences, once everything is at rest. */
  faults?(): Promise<string[]>
}

/** A list that a route answers in pages, whole. */
export async function everyPage<T>(
  pageAt: (cursor: string | undefined) => Promise<{ items: T[]; next_cursor: string | null }>,
): Promise<T[]> {
  const all: T[] = []
  let cursor: string | undefined
  do {
    const { items, next_cursor } = await pageAt(cursor)
    all.push(...items)
    cursor = next_cursor ?? undefined
  } while (cursor)
  return all
}

interface Answer {
  status: number
  body: unknown
}
/** What says that nobody knows, or that nothing happened, and that one may try again. */
const AWAY = [502, 503]
/** What fetch says of a connection that was refused, and of one that broke within an answer. */
const BROKEN = ['fetch failed', 'terminated']
type Good<R extends Answer> = Exclude<
  R,
  { status: 400 | 401 | 403 | 404 | 409 | 413 | 414 | 415 | 422 | 429 | 500 | 502 | 503 }
>

/** The body of an answer that acknowledges; nothing where the product or the way to it was away. Throws on any other. */
export async function acknowledged<R extends Answer>(
  asked: Promise<R>,
): Promise<Good<R>['body'] | undefined> {
  const reply = await asked.catch((error: Error) => {
    if (error.name === 'TimeoutError' || BROKEN.includes(error.message)) return undefined
    throw error
  })
  if (!reply || AWAY.includes(reply.status)) return undefined
  if (reply.status >= 200 && reply.status < 300) return reply.body as Good<R>['body']
  throw new Error(`${reply.status} ${JSON.stringify(reply.body)}`)
}

/** The body of an answer, where nothing is away. */
export async function answered<R extends Answer>(asked: Promise<R>): Promise<Good<R>['body']> {
  const body = await acknowledged(asked)
  if (body === undefined) throw new Error('The product does not answer')
  return body
}
