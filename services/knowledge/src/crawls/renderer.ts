import { outbound } from '@guildhall/outbound/fetch'
import { checkPublic } from '@guildhall/outbound/guarded'
import { AppError } from '@guildhall/service/errors'
import { z } from 'zod'
import type { Config } from '../config.ts'
import type { Deps } from '../deps.ts'
import { type Bounds, MAX_BYTES } from './fetch.ts'

const TIMEOUT_MS = 30_000
/** Nothing to render: these are fetched as they are. */
const NO_PAGE = /\.(pdf|txt|md|markdown|csv|docx)$/i

export interface Renderer {
  url: string
  key: string | undefined
  /** An officer named it, so it must be on the public internet. */
  guarded: boolean
}

/** What renders a page: the org's own renderer, else the deployment's; nothing where neither is set, or where a file is asked for. */
export async function rendererOf(
  { config, secretsOf }: { config: Config; secretsOf: Deps['secretsOf'] },
  orgId: number,
  page: string,
): Promise<Renderer | undefined> {
  if (NO_PAGE.test(new URL(page).pathname)) return undefined
  const { renderer_url: own, renderer_api_key } = await secretsOf(orgId)
  if (own !== undefined) return { url: own, key: renderer_api_key, guarded: true }
  const { RENDERER_URL: url, RENDERER_API_KEY: key } = config
  return url === undefined ? undefined : { url, key, guarded: false }
}

/**
 * The page as a browser shows it. Asked is `POST {"url": "<page>", "formats": ["rawHtml"]}` where the address ends in /scrape
 * (Firecrawl, whose JSON holds the HTML), `POST {"url": "<page>"}` where it ends in /content (Browserless), and else
 * `GET <renderer>?url=<page>` (Prerender) or, where the address has one, with `{url}` replaced; these answer HTML.
 * Throws AppError('upstream', 'renderer.…').
 */
export async function render(
  { url, key, guarded }: Renderer,
  page: string,
  { signal, bounds }: { signal: AbortSignal; bounds: Bounds },
) {
  const { timeoutMs = TIMEOUT_MS, maxBytes = MAX_BYTES, ...guard } = bounds
  await checkPublic(page, guard) // the renderer may stand where more than the internet is within its reach
  const request = requestOf(url, page)
  const answer = await outbound({
    service: 'renderer',
    url: request.url,
    ...(request.body && { method: 'POST', body: request.body }),
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
    timeoutMs,
    maxBytes,
    retries: 0,
    signal,
    ...(guarded && { guard }),
  })
  if (request.scraped)
    return { bytes: scrapedHtml(answer.json()), type: 'text/html; charset=utf-8' }
  return { bytes: answer.bytes, type: answer.headers.get('content-type') ?? 'text/html' }
}

/** What Firecrawl answers of a page. */
const Scraped = z.object({
  data: z.object({
    rawHtml: z.string(),
    metadata: z.object({ statusCode: z.int().optional() }).optional(),
  }),
})

function scrapedHtml(body: unknown): Buffer {
  const { data } = Scraped.safeParse(body).data ?? {}
  if (!data)
    throw new AppError(
      'upstream',
      'renderer.unusable',
      'The renderer answered without data.rawHtml: an address that ends in /scrape must speak as Firecrawl does',
    )
  const { statusCode = 200 } = data.metadata ?? {}
  if (statusCode >= 400)
    throw new AppError(
      'upstream',
      'renderer.page',
      `The page answered ${statusCode} to the renderer`,
    )
  return Buffer.from(data.rawHtml)
}

interface RendererRequest {
  url: string
  body?: object
  /** The answer is JSON that holds the page. */
  scraped?: boolean
}

function requestOf(renderer: string, page: string): RendererRequest {
  const filled = renderer.replaceAll(/\{url\}|%7Burl%7D/gi, encodeURIComponent(page))
  if (filled !== renderer) return { url: filled }
  const url = URL.parse(renderer)
  if (!url) return { url: renderer } // outbound says what is wrong with it
  if (url.pathname.endsWith('/scrape'))
    return { url: url.href, body: { url: page, formats: ['rawHtml'] }, scraped: true }
  if (url.pathname.endsWith('/content')) return { url: url.href, body: { url: page } }
  url.searchParams.set('url', page)
  return { url: url.href }
}
