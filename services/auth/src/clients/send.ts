import { hash } from 'node:crypto'
import { DefaultRestOptions, type RESTOptions } from '@discordjs/rest'
import { AppError } from '@guildhall/service/errors'
import { LRUCache } from 'lru-cache'

const MOST_HELD = 10_000
const EVERYTHING = '*'

type Init = Parameters<RESTOptions['makeRequest']>[1]

/**
 * Sends requests to the chat platform, and none into a limit that its headers have told of: that one throws
 * `chat.rate_limited`. The official client alone would send one more, because it counts anew once it
 * learns the name of a bucket.
 */
export function createSend(): RESTOptions['makeRequest'] {
  const held = new LRUCache<string, true>({ max: MOST_HELD, ttlResolution: 0 })

  return async (address, init) => {
    const bucket = bucketOf(address, init)
    const wait = Math.max(held.getRemainingTTL(EVERYTHING), held.getRemainingTTL(bucket))
    if (wait > 0) throw rateLimited(wait)
    const reply = await DefaultRestOptions.makeRequest(
      address,
      init as Parameters<typeof DefaultRestOptions.makeRequest>[1],
    )
    const hold = holdOf(reply)
    if (hold) keep(hold.everything ? EVERYTHING : bucket, Math.ceil(hold.ms))
    return reply
  }

  /** Answers come in any order: the longest wait counts. */
  function keep(key: string, ttl: number) {
    if (held.getRemainingTTL(key) < ttl) held.set(key, true, { ttl })
  }
}

/** How long the platform asks to wait, and whether with everything. */
function holdOf({ status, headers }: { status: number; headers: { get(name: string): unknown } }) {
  const secondsOf = (name: string) => Number(headers.get(name) ?? 0) || 0
  const spent = headers.get('x-ratelimit-remaining') === '0'
  if (status !== 429 && !spent) return undefined
  const ms = Math.max(secondsOf('retry-after'), secondsOf('x-ratelimit-reset-after')) * 1000
  // without a bucket it is not the API that refuses but what stands before it
  const everything =
    status === 429 &&
    (headers.get('x-ratelimit-global') !== null || headers.get('x-ratelimit-bucket') === null)
  return ms > 0 ? { ms, everything } : undefined
}

/** What the platform counts together: a route, of guilds each on its own, and of people who signed in too. */
function bucketOf(address: string, { method = 'GET', headers }: Init) {
  const { pathname } = new URL(address)
  const { Authorization = '' } = headers as Record<string, string>
  const person = Authorization.startsWith('Bearer ') ? hash('sha256', Authorization) : ''
  return `${method} ${pathname.replace(/(\/members)\/\d+$/, '$1/:id')} ${person}`
}

/** What callers are told while the chat platform wants to be left alone. */
export function rateLimited(ms: number, cause?: unknown) {
  const retryAfter = Math.max(1, Math.ceil(ms / 1000))
  return new AppError(
    'unavailable',
    'chat.rate_limited',
    `The chat platform takes no more requests for now; try again in ${retryAfter} s`,
    { cause, retryAfter },
  )
}
