import { outbound } from '@guildhall/outbound/fetch'
import { checkPublic } from '@guildhall/outbound/guarded'
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
 * The page as a browser shows it. Asked is `GET <renderer>?url=<page>` (Prerender), `{url}` in the address replaced where it has
 * one, and `POST {"url": "<page>"}` where the address ends in /content (Browserless); the answer is HTML.
 * Throws AppError('upstream', 'renderer.…').
 */
export async function render(
  { url, key, guarded }: Renderer,
  page: string,
  { signal, bounds }: { signal: AbortSignal; bounds: Bounds },
) {
  const { timeoutMs = TIMEOUT_MS, maxBytes = MAX_BYTES, ...guard } = bounds
  await checkPublic(page, guard) // the renderer may stand where more than the internet is within its reach
  const { bytes, headers } = await outbound({
    service: 'renderer',
    ...requestOf(url, page),
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
    timeoutMs,
    maxBytes,
    retries: 0,
    signal,
    ...(guarded && { guard }),
  })
  return { bytes, type: headers.get('content-type') ?? 'text/html' }
}

function requestOf(renderer: string, page: string) {
  const filled = renderer.replaceAll(/\{url\}|%7Burl%7D/gi, encodeURIComponent(page))
  if (filled !== renderer) return { url: filled }
  const url = URL.parse(renderer)
  if (!url) return { url: renderer } // outbound says what is wrong with it
  if (url.pathname.endsWith('/content'))
    return { url: url.href, method: 'POST', body: { url: page } }
  url.searchParams.set('url', page)
  return { url: url.href }
}
