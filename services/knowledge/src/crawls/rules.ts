import { createHash } from 'node:crypto'
import type { CrawlDefinition } from '@guildhall/contracts/knowledge-crawls'
import { AppError } from '@guildhall/service/errors'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** After the first failure; each further one doubles it, up to the source's own period. */
const FIRST_RETRY_MS = 10 * MINUTE_MS
/** interface.md, Crawl steps, 6: a shorter last text says nothing. */
const LEAST_GUARDED_CHARS = 500

/** When a source is crawled again: after its period, and after failures sooner. */
export function dueAfter(now: Date, failures: number, everyHours: number): Date {
  const period = everyHours * HOUR_MS
  const wait = failures === 0 ? period : Math.min(period, FIRST_RETRY_MS * 2 ** (failures - 1))
  return new Date(now.getTime() + wait)
}

/** When a failed crawl is tried again: not before a pause that the site asked for is over, however long the period. */
export function retryAt(now: Date, failures: number, everyHours: number, pause = 0): Date {
  const due = dueAfter(now, failures, everyHours)
  return new Date(Math.max(due.getTime(), now.getTime() + pause * 1000))
}

/** Equal for pages that read the same. Not of the bytes: those change with every advertisement and token. */
export const hashOfPage = ({ title, text }: { title: string; text: string }): string =>
  createHash('sha256')
    .update(JSON.stringify([title, text]))
    .digest('hex')

/** Throws where the text shrank so much that the page is probably broken. */
export function checkShrinking(before: number | null, now: number): void {
  if (before === null || before < LEAST_GUARDED_CHARS || now >= before / 2) return
  throw new AppError(
    'conflict',
    'crawl.shrunk',
    `The page had ${before} characters of text and has ${now} now, less than half: it may be broken. The old text was kept; run the crawl with force if the page is right.`,
  )
}

/** What a definition says, as it is kept. */
export type Defined = Omit<CrawlDefinition, 'title'> & { title: string | null }

/** What of a definition changed. Another page or title means that the page is to be read anew. */
export function difference(before: Defined, after: Defined): 'none' | 'labels' | 'page' {
  if (before.url !== after.url || before.title !== after.title) return 'page'
  const others = ['category', 'public', 'fetch_every_hours', 'enabled'] as const
  return others.some((field) => before[field] !== after[field]) ? 'labels' : 'none'
}

/** One turn for each host; what stands in one list is done one after the other. */
export function byHost<Page extends { url: string }>(pages: readonly Page[]): Page[][] {
  const hosts = Map.groupBy(pages, ({ url }) => hostOf(url))
  return [...hosts.values()]
}

/** Whose pauses are kept: a site's name without its port. */
export const hostOf = (url: string): string =>
  URL.parse(url)?.hostname.replace(/\.$/, '') ?? 'unknown'

/** Throws unless the site answered with a page. `pause` are the seconds for which it asks not to be asked again. */
export function checkStatus(status: number, url: string, pause?: number): void {
  if (status >= 200 && status < 300) return
  const { host } = new URL(url)
  throw new AppError(
    'upstream',
    'crawl.refused',
    `${host} answered ${status}: ${adviceFor(status)}${pause ? ` It asked for ${pause} seconds without crawls.` : ''}`,
    pause ? { retryAfter: pause } : {},
  )
}

function adviceFor(status: number): string {
  if (status === 404 || status === 410) return 'the page is not there. Correct the url.'
  if (status === 401 || status === 403)
    return 'it does not let crawls read this page. Ask the site, or take another page.'
  if (status === 429) return 'it wants to be asked less often. It is tried again later.'
  if (status >= 500) return 'the site has a fault. It is tried again later.'
  return 'this is no page. Correct the url.'
}
