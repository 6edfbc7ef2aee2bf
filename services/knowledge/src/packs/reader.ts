import { AppError } from '@guildhall/service/errors'
import { createGet } from '../crawls/fetch.ts'
import { fetchPage } from '../crawls/fetch-page.ts'
import { createHosts } from '../crawls/hosts.ts'
import { readPage } from '../crawls/page.ts'
import { rendererOf } from '../crawls/renderer.ts'
import { checkStatus } from '../crawls/rules.ts'
import type { Deps } from '../deps.ts'
import type { Answered } from './answer.ts'

interface Reading {
  orgId: number
  /** Rendered where the org or the deployment has a renderer. */
  needs_js: boolean
  signal: AbortSignal
}

export type Reader = ReturnType<typeof createReader>

/**
 * Reads pages for live queries, from the public internet only, taking turns with the crawls of a host. robots.txt is not asked:
 * somebody wants this one page now. Throws as crawls do.
 */
export function createReader(deps: Deps) {
  const { db, config, extractor, guard } = deps
  const hosts = createHosts(db, config.KNOWLEDGE_CRAWL_GAP_SECONDS)
  const get = createGet(hosts, guard)
  const userAgent = config.KNOWLEDGE_USER_AGENT
  const robots = { check: async () => undefined }
  const pages = { hosts, robots, get, userAgent, bounds: guard }

  return {
    async page(url: string, { orgId, needs_js, signal }: Reading): Promise<Answered> {
      const renderer = needs_js ? await rendererOf(deps, orgId, url) : undefined
      const page = await fetchPage(pages, { url, known: undefined, renderer, signal })
      if (!page) throw new Error('A page that was asked for without conditions is unchanged')
      return { url, ...(await readPage(extractor, orgId, page)) }
    },

    async json(url: string, { signal }: Pick<Reading, 'signal'>): Promise<unknown> {
      const headers = () => ({ 'user-agent': userAgent, accept: 'application/json' })
      const { status, url: at, bytes } = await get(url, { signal, headers })
      checkStatus(status, at)
      try {
        return JSON.parse(bytes.toString('utf8'))
      } catch (cause) {
        const { host } = new URL(at)
        throw new AppError('upstream', 'pack.not_json', `${host} answered no JSON`, { cause })
      }
    },
  }
}
