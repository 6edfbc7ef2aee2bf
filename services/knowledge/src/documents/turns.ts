/** Whose work it is. Uploads, which an officer waits for, come before crawls. */
export interface Whose {
  orgId: number
  kind: 'upload' | 'crawl'
}

/** Each may take ten seconds, and crawls have a deadline. */
const UPLOADS_IN_A_ROW = 3

type Begin = () => void

/** What waits of each org, the org first whose turn is next. */
type Line = Map<number, Begin[]>

/**
 * Lets one work run at a time: uploads before crawls, but after three uploads a crawl that waits; and among these the orgs by
 * turns, however much one of them has waiting.
 */
export function createTurns() {
  const lines: Record<Whose['kind'], Line> = { upload: new Map(), crawl: new Map() }
  let busy = false
  /** Uploads since the last crawl. */
  let uploads = 0

  function choose() {
    const [first, second] =
      uploads < UPLOADS_IN_A_ROW ? (['upload', 'crawl'] as const) : (['crawl', 'upload'] as const)
    const kind = lines[first].size > 0 ? first : second
    uploads = kind === 'upload' ? uploads + 1 : 0
    return firstOf(lines[kind])
  }

  function next() {
    const begin = choose()
    busy = begin !== undefined
    begin?.()
  }

  /** Resolves when it is the turn of this one. */
  function turn({ orgId, kind }: Whose): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const line = lines[kind]
    line.set(orgId, [...(line.get(orgId) ?? []), resolve])
    if (!busy) next()
    return promise
  }

  return async <Result>(whose: Whose, work: () => Promise<Result>): Promise<Result> => {
    await turn(whose)
    try {
      return await work()
    } finally {
      next()
    }
  }
}

/** Takes the work whose turn it is out of the line; its org goes to the end. */
function firstOf(line: Line): Begin | undefined {
  const [first] = line
  if (!first) return undefined
  const [orgId, [begin, ...others]] = first
  line.delete(orgId)
  if (others.length > 0) line.set(orgId, others)
  return begin
}
