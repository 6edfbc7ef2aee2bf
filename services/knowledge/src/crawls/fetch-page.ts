import { type Bounds, type Get, pauseOf, TIMEOUT_MS } from './fetch.ts'
import type { Hosts } from './hosts.ts'
import { type Renderer, render } from './renderer.ts'
import type { Robots } from './robots.ts'
import { checkStatus, hostOf } from './rules.ts'

/** What the last fetch said about the page, so that the site can say that it is unchanged. */
interface Known {
  fetched_url: string | null
  etag: string | null
  last_modified: string | null
}

export interface Page extends Known {
  bytes: Buffer
  type: string | null
  url: string
}

export interface PageNeeds {
  hosts: Hosts
  robots: Robots
  get: Get
  userAgent: string
  bounds: Bounds
}

interface Fetching {
  url: string
  /** Missing where the page is wanted even if unchanged. */
  known: Known | undefined
  renderer: Renderer | undefined
  signal: AbortSignal
}

/** The page, rendered where there is a renderer; nothing where the site says that it is unchanged. Throws AppError where it may not or cannot be read. */
export async function fetchPage(needs: PageNeeds, fetching: Fetching): Promise<Page | undefined> {
  return fetching.renderer
    ? renderedPage(needs, fetching, fetching.renderer)
    : plainPage(needs, fetching)
}

async function plainPage(
  { get, robots, userAgent }: PageNeeds,
  { url, known, signal }: Fetching,
): Promise<Page | undefined> {
  const answer = await get(url, {
    signal,
    check: (target, time) => robots.check(target, { signal, time }),
    headers: (target) => ({
      'user-agent': userAgent,
      accept: 'text/html,application/xhtml+xml,text/plain;q=0.9,text/markdown;q=0.9,*/*;q=0.5',
      ...(known?.fetched_url === target && conditions(known)),
    }),
  })
  const { status, headers, bytes } = answer
  if (status === 304 && known?.fetched_url === answer.url) return undefined
  checkStatus(status, answer.url, pauseOf(answer))
  return {
    bytes,
    type: headers.get('content-type'),
    url: answer.url,
    fetched_url: answer.url,
    etag: headers.get('etag'),
    last_modified: headers.get('last-modified'),
  }
}

const conditions = ({ etag, last_modified }: Known) => ({
  ...(etag !== null && { 'if-none-match': etag }),
  ...(last_modified !== null && { 'if-modified-since': last_modified }),
})

async function renderedPage(
  { hosts, robots, bounds }: PageNeeds,
  { url, signal }: Fetching,
  renderer: Renderer,
): Promise<Page> {
  const time = { left: bounds.timeoutMs ?? TIMEOUT_MS }
  await robots.check(url, { signal, time })
  const rest = { ...bounds, timeoutMs: time.left }
  const rendered = await hosts.turn(hostOf(url), signal, () =>
    render(renderer, url, { signal, bounds: rest }),
  )
  return { ...rendered, url, fetched_url: null, etag: null, last_modified: null }
}
