import { AppError } from '@guildhall/service/errors'
import type { Orgs } from '../clients/orgs.ts'
import type { Deps } from '../deps.ts'
import { crawl, type Outcome, type Wanted } from './crawl.ts'
import { type Bounds, createGet } from './fetch.ts'
import { createHosts } from './hosts.ts'
import { crawlByKey, crawlsOfOrg, dueCrawls, orgsWithDue, type Waiting } from './queries.ts'
import { createRobots } from './robots.ts'
import { byHost } from './rules.ts'

export type Crawler = ReturnType<typeof createCrawler>
type Counts = Record<Outcome, number>
/** Each may hold a page of 10 MB in memory. */
const HOSTS_AT_ONCE = 20

/** What the crawl jobs do. `bounds` are for tests. */
export function createCrawler(deps: Deps, orgOf: Orgs, bounds: Bounds = {}) {
  const { db, config, now } = deps
  const hosts = createHosts(db, config.KNOWLEDGE_CRAWL_GAP_SECONDS)
  const get = createGet(hosts, bounds)
  const userAgent = config.KNOWLEDGE_USER_AGENT
  const robots = createRobots(get, userAgent)
  const needs = { ...deps, pages: { hosts, robots, get, userAgent, bounds } }
  const one = (wanted: Wanted, signal: AbortSignal) => crawl(needs, wanted, signal)

  /** Hosts side by side, up to a number of them, and the pages of a host one after the other. */
  async function all(found: Waiting[], rest: Pick<Wanted, 'force' | 'dueAt'>, signal: AbortSignal) {
    const counts: Counts = { changed: 0, unchanged: 0, failed: 0, not_taken: 0, lost: 0 }
    const hosts = byHost(found).values()
    async function ofHost(pages: Waiting[]) {
      for (const { source_id, org_id } of pages) {
        signal.throwIfAborted()
        const org = await orgOf(org_id)
        counts[org ? await one({ org, source_id, ...rest }, signal) : 'not_taken']++
      }
    }
    async function next() {
      for (const pages of hosts) await ofHost(pages) // shared: each host is taken once
    }
    await Promise.all(Array.from({ length: HOSTS_AT_ONCE }, next))
    return counts
  }

  return {
    /** Crawls what is due, up to the batch; orgs that are not active, or have knowledge off, wait. */
    async due(signal: AbortSignal): Promise<Counts> {
      const dueAt = now()
      const active: number[] = []
      for (const id of await orgsWithDue(db, dueAt)) if (await orgOf(id)) active.push(id)
      const found = await dueCrawls(db, active, dueAt, config.KNOWLEDGE_CRAWL_BATCH)
      const counts = await all(found, { force: false, dueAt }, signal)
      await hosts.prune()
      return counts
    },

    /** Crawls one source, due or not. Throws AppError('unavailable', 'crawl.in_hand') to be tried again while another crawls it. */
    async byKey(asked: { org_id: number; key: string; force: boolean }, signal: AbortSignal) {
      const org = await orgOf(asked.org_id)
      const source_id = org && (await crawlByKey(db, org.id, asked.key))
      if (!source_id) return { outcome: 'gone' as const }
      const outcome = await one({ org, source_id, force: asked.force }, signal)
      if (outcome === 'not_taken' || outcome === 'lost') throw inHand(asked.key)
      return { outcome }
    },

    /** Crawls with force what the org has enabled and nobody began since. Throws to be tried again while some are crawled by another. */
    async ofOrg(org_id: number, since: Date | undefined, signal: AbortSignal): Promise<Counts> {
      const sum: Counts = { changed: 0, unchanged: 0, failed: 0, not_taken: 0, lost: 0 }
      if (!(await orgOf(org_id))) return sum
      for await (const found of crawlsOfOrg(db, { org_id, since }, config.KNOWLEDGE_CRAWL_BATCH)) {
        const counts = await all(found, { force: true }, signal)
        for (const outcome of Object.keys(sum) as Outcome[]) sum[outcome] += counts[outcome]
      }
      if (since && sum.not_taken + sum.lost > 0) throw inHand(`${sum.not_taken + sum.lost} sources`)
      return sum
    },
  }
}

const inHand = (what: string) =>
  new AppError(
    'unavailable',
    'crawl.in_hand',
    `${what}: somebody else crawls or changes it at the moment; it is tried again`,
  )
