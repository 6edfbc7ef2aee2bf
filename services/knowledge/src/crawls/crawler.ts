import { queueJob } from '@guildhall/bus/jobs'
import { reindex } from '@guildhall/contracts/knowledge-crawls'
import { AppError } from '@guildhall/service/errors'
import type { Orgs } from '../clients/orgs.ts'
import type { Deps } from '../deps.ts'
import { crawl } from './crawl.ts'
import { OUTCOMES, type Outcome, type Wanted } from './endings.ts'
import { type Bounds, createGet } from './fetch.ts'
import { createHosts } from './hosts.ts'
import { crawlByKey, crawlsOfOrg, dueCrawls, orgsWithDue, type Waiting } from './queries.ts'
import { createRobots } from './robots.ts'
import { byHost } from './rules.ts'

export type Crawler = ReturnType<typeof createCrawler>
type Counts = Record<Outcome, number>
const none = () => Object.fromEntries(OUTCOMES.map((outcome) => [outcome, 0])) as Counts
/** Each may hold a page of 10 MB in memory. */
const HOSTS_AT_ONCE = 20
/** A run begins no page after so long: the next one, ten minutes after this, takes orgs by turns again. */
const RUN_MS = 8 * 60_000

function add(sum: Counts, counts: Counts) {
  for (const outcome of OUTCOMES) sum[outcome] += counts[outcome]
}

/** `continued_by`: the run that does the rest. */
type Reindexed = Counts & { continued_by?: string }

/** What is done with pages, and until when they are begun. */
interface Doing extends Pick<Wanted, 'force' | 'dueAt'> {
  until: Date
}

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
  async function all(found: Waiting[], { until, ...rest }: Doing, signal: AbortSignal) {
    const counts = none()
    const hosts = byHost(found).values()
    async function ofHost(pages: Waiting[]) {
      for (const { source_id, org_id } of pages) {
        signal.throwIfAborted()
        if (now() >= until) return
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
    /** Crawls what is due, up to the batch and for eight minutes; orgs that are not active, or have knowledge off, wait. */
    async due(signal: AbortSignal): Promise<Counts> {
      const dueAt = now()
      const active: number[] = []
      for (const id of await orgsWithDue(db, dueAt)) if (await orgOf(id)) active.push(id)
      const found = await dueCrawls(db, active, dueAt, config.KNOWLEDGE_CRAWL_BATCH)
      const counts = await all(found, { force: false, dueAt, until: after(dueAt) }, signal)
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

    /**
     * Crawls with force what the org has enabled and nobody began since. After eight minutes another run does the rest, behind
     * those of other orgs. Throws to be tried again while some are crawled by another.
     */
    async ofOrg(org_id: number, since: Date | undefined, signal: AbortSignal): Promise<Reindexed> {
      const sum = none()
      const began = now()
      const until = after(began)
      if (!(await orgOf(org_id))) return sum
      for await (const found of crawlsOfOrg(db, { org_id, since }, config.KNOWLEDGE_CRAWL_BATCH)) {
        const counts = await all(found, { force: true, until }, signal)
        add(sum, counts)
        if (now() < until) continue
        const rest = { org_id, asked_at: (since ?? began).toISOString() }
        const queueing = db.transaction().execute((trx) => queueJob(trx, reindex, rest))
        return { ...sum, continued_by: await queueing }
      }
      const others = sum.not_taken + sum.lost
      if (since && others > 0) throw inHand(`${others} sources`)
      return sum
    },
  }
}

const after = (began: Date) => new Date(began.getTime() + RUN_MS)

const inHand = (what: string) =>
  new AppError(
    'unavailable',
    'crawl.in_hand',
    `${what}: somebody else crawls or changes it at the moment; it is tried again`,
  )
