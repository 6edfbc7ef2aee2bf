import { type OutboundRequest, outbound } from '@guildhall/outbound/fetch'
import { AppError } from '@guildhall/service/errors'
import { z } from 'zod'
import type { Config } from '../config.ts'
import type { OrgSecrets } from './org-secrets.ts'

const TIMEOUT_MS = 15_000
const MAX_BYTES = 2 * 1024 * 1024
const MOST_RESULTS = 20

export interface SearchService {
  url: string
  engines: string
  /** An officer named it, so it must be on the public internet. */
  guarded: boolean
}

/** The org's own search service, which replaces the deployment's as a whole; nothing where neither is set. */
export function searchServiceOf(config: Config, secrets: OrgSecrets): SearchService | undefined {
  const { search_service_url: own, search_service_engines } = secrets
  const { SEARCH_SERVICE_URL: url, SEARCH_SERVICE_ENGINES: engines } = config
  if (own !== undefined)
    return { url: own, engines: search_service_engines ?? engines, guarded: true }
  return url === undefined ? undefined : { url, engines, guarded: false }
}

/** What SearXNG answers (docs.searxng.org/dev/search_api.html); `content` may be missing. */
const Results = z.object({
  results: z.array(
    z.object({
      url: z.string(),
      title: z.string().nullish(),
      content: z.string().nullish(),
    }),
  ),
})

/** The first results for these words. Throws AppError('upstream', 'search.…'), which never tells the address of the service. */
export async function searchWeb(
  { url, engines, guarded }: SearchService,
  words: string,
  { signal, guard }: { signal: AbortSignal; guard: NonNullable<OutboundRequest['guard']> },
) {
  const answer = await outbound({
    service: 'search',
    url: searchUrl(url, { q: words, format: 'json', engines }),
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_BYTES,
    retries: 1,
    signal,
    ...(guarded && { guard }),
  }).catch((cause) => {
    throw signal.aborted ? cause : failed(cause)
  })
  const parsed = Results.safeParse(bodyOf(answer))
  if (!parsed.success) throw failed(parsed.error)
  return parsed.data.results.slice(0, MOST_RESULTS).map(({ url: at, title, content }) => ({
    url: at,
    title: title?.trim() || at,
    content: content?.trim() ?? '',
  }))
}

function bodyOf(answer: { json(): unknown }): unknown {
  try {
    return answer.json()
  } catch (cause) {
    throw failed(cause)
  }
}

function searchUrl(base: string, query: Record<string, string>): string {
  const url = URL.parse(base)
  if (!url) return base // outbound says what is wrong with it
  if (!url.pathname.endsWith('/search')) url.pathname = `${url.pathname.replace(/\/+$/, '')}/search`
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  return url.href
}

const failed = (cause: unknown) =>
  new AppError(
    'upstream',
    'search.failed',
    'The web search failed. Try again later; if it stays so, test the integration search. A SearXNG must allow the format json (search.formats in its settings.yml).',
    { cause },
  )
