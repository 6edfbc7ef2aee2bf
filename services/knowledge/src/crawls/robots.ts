import type { GuardedAnswer } from '@guildhall/outbound/guarded'
import { AppError } from '@guildhall/service/errors'
import { LRUCache } from 'lru-cache'
import robotsParser from 'robots-parser'
import { type Get, pauseOf, type Time } from './fetch.ts'

/** Its types say that it is an ES module, which it is not. */
const parse = robotsParser as unknown as typeof robotsParser.default
/** decisions.md § 3. */
const KEPT_MS = 60 * 60_000
/** A site that could not say is asked again soon. */
const TROUBLE_KEPT_MS = 60_000
const ORIGINS_KEPT = 2_000
/** What must be read of a longer file (RFC 9309 § 2.5). */
const READ_BYTES = 500 * 1024
const MOST_LINES = 2_000
const MOST_LINE_CHARS = 500
const MOST_WILDCARDS = 8

/** Whether a page may be crawled: by its rules, or never while these cannot be read. */
type Rules = { allowed(url: string): boolean } | { trouble: Trouble }
interface Trouble {
  message: string
  /** Seconds for which the site asks not to be asked again. */
  retryAfter?: number | undefined
}
const EVERYTHING: Rules = { allowed: () => true }

/** No word of the site's: its address may not be fetched, its host rests, or this page has no time left, which another may have. */
const OF_THE_PAGE = ['url.not_allowed', 'url.malformed', 'url.timeout', 'crawl.host_rests']

const isOfSite = (error: unknown): error is AppError =>
  error instanceof AppError && !OF_THE_PAGE.includes(error.code)

interface Checking {
  signal: AbortSignal
  /** What the page has left of its time. */
  time?: Time
}

export type Robots = ReturnType<typeof createRobots>

/** What robots.txt says of crawls that call themselves `userAgent` (RFC 9309), kept for an hour per origin. */
export function createRobots(get: Get, userAgent: string) {
  const known = new LRUCache<string, Rules>({ max: ORIGINS_KEPT, ttl: KEPT_MS })
  const headers = () => ({ 'user-agent': userAgent })

  async function read(origin: string, { signal, time }: Checking): Promise<Rules> {
    const url = `${origin}/robots.txt`
    try {
      const getting = { headers, signal, ...(time && { time }) }
      return rulesOf(await get(url, getting), url, userAgent)
    } catch (error) {
      if (signal.aborted || !isOfSite(error)) throw error
      if (error.code === 'url.redirected') return EVERYTHING // § 2.3.1.2
      return { trouble: error }
    }
  }

  return {
    /**
     * Throws AppError('forbidden', 'crawl.disallowed'), or 'crawl.robots_unread' while the site cannot say, and as a fetch does
     * where that says something of the page itself.
     */
    async check(url: string, checking: Checking): Promise<void> {
      const { origin, host } = new URL(url)
      const rules = known.get(origin) ?? (await read(origin, checking))
      if (!known.has(origin))
        known.set(origin, rules, 'trouble' in rules ? { ttl: TROUBLE_KEPT_MS } : {})
      if ('trouble' in rules) throw unread(host, rules.trouble)
      if (!rules.allowed(url)) throw disallowed(url, userAgent)
    },
  }
}

function rulesOf(answer: GuardedAnswer, url: string, userAgent: string): Rules {
  const { status, bytes } = answer
  if (status >= 500 || status === 429)
    return { trouble: { message: `it answered ${status}`, retryAfter: pauseOf(answer) } }
  if (status < 200 || status >= 300) return EVERYTHING // § 2.3.1.3
  const text = bytes
    .subarray(0, READ_BYTES)
    .toString('utf8')
    .replace(/^\uFEFF/, '')
  const robots = parse(url, bounded(text))
  return { allowed: (page) => robots.isAllowed(page, userAgent) !== false }
}

/**
 * Rules that are soon compared, as robots.txt is anybody's to write: so many lines, each with so many wildcards and
 * characters. A rule that is cut off counts by its beginning, so a page it forbids stays forbidden.
 */
function bounded(text: string): string {
  return text
    .split(/\r\n|\r|\n/, MOST_LINES)
    .map((line) => {
      const parts = line.slice(0, MOST_LINE_CHARS).split(/\*+/)
      return parts.length <= MOST_WILDCARDS
        ? parts.join('*')
        : parts.slice(0, MOST_WILDCARDS).join('*')
    })
    .join('\n')
}

const disallowed = (url: string, userAgent: string) =>
  new AppError(
    'forbidden',
    'crawl.disallowed',
    `The robots.txt of ${new URL(url).host} forbids ${userAgent.split('/')[0]} this page. Ask the site to allow it, or take another page.`,
  )
const unread = (host: string, why: Trouble) =>
  new AppError(
    'upstream',
    'crawl.robots_unread',
    `The robots.txt of ${host} cannot be read, so the site is not crawled for now: ${why.message}`,
    { cause: why, ...(why.retryAfter && { retryAfter: why.retryAfter }) },
  )
