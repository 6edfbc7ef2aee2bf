import type { OrgRef } from '@guildhall/contracts/route'
import { AppError } from '@guildhall/service/errors'
import type { Tables } from '../db.ts'
import type { Deps } from '../deps.ts'
import { noteRun } from '../runs/queries.ts'
import { type Ending, endLease, type Lease } from './leases.ts'
import { dueAfter, retryAt } from './rules.ts'

export const OUTCOMES = ['changed', 'unchanged', 'failed', 'resting', 'not_taken', 'lost'] as const

/**
 * How a crawl ended. `resting`: its host asked for a pause, so nothing was asked; it is due when that is over. `not_taken`:
 * another has it, it is gone, or not due any more. `lost`: so it became on the way; nothing was written.
 */
export type Outcome = (typeof OUTCOMES)[number]

export interface Wanted {
  org: OrgRef
  source_id: string
  force: boolean
  /** Only if it is due by then. */
  dueAt?: Date
}

/** A crawl in hand. */
export interface Crawling extends Wanted {
  lease: Lease
  started: number
  started_at: Date
  signal: AbortSignal
}

/** What is kept of a crawl that did not fail. */
export const fine = ({ now }: Deps, lease: Lease, ending: Ending): Ending => ({
  ...ending,
  last_error: null,
  failures: 0,
  due_at: dueAfter(now(), 0, lease.fetch_every_hours),
})

/** Ends a crawl whose page says what it said before. */
export function unchanged(deps: Deps, crawling: Crawling, ending: Ending): Promise<Outcome> {
  return deps.db.transaction().execute(async (trx) => {
    if (!(await endLease(trx, crawling.lease, fine(deps, crawling.lease, ending)))) return 'lost'
    const version = await trx
      .selectFrom('versions')
      .select('chunk_count')
      .where('id', '=', crawling.lease.current_version_id)
      .executeTakeFirst()
    const chunks = version?.chunk_count ?? 0
    await noteRun(trx, runOf(crawling, { changed: false, chunks, error: null }))
    return 'unchanged'
  })
}

/** Ends a crawl by what was thrown. Whatever is wrong with the page ends as `failed`, with its reason in `last_error` and the run log. */
export const restOrFail = (deps: Deps, crawling: Crawling, error: unknown): Promise<Outcome> =>
  error instanceof AppError && error.code === 'crawl.host_rests'
    ? rest(deps, crawling, error.retryAfter)
    : fail(deps, crawling, error)

/** Nothing was asked, so nothing failed: the crawl comes again when the pause is over. */
async function rest({ db, now }: Deps, { lease }: Crawling, seconds = 0): Promise<Outcome> {
  const due_at = new Date(now().getTime() + seconds * 1000)
  const ended = await db.transaction().execute((trx) => endLease(trx, lease, { due_at }))
  return ended ? 'resting' : 'lost'
}

/** The last chunks stay; the next attempt comes the later the more have failed. */
function fail(deps: Deps, crawling: Crawling, error: unknown): Promise<Outcome> {
  const { lease, org } = crawling
  const refusal = error instanceof AppError ? error : undefined
  // a job crawls for many orgs
  const told = { err: error, org: org.id, source_key: lease.key } // with causes that are no business of officers
  if (refusal) deps.log.info(told, 'A crawl failed')
  else deps.log.error(told, 'A crawl failed by a fault of ours')
  const last_error = refusal?.message ?? 'Internal error; it is tried again'
  const failures = lease.failures + 1
  const due_at = retryAt(deps.now(), failures, lease.fetch_every_hours, refusal?.retryAfter)
  return deps.db.transaction().execute(async (trx) => {
    if (!(await endLease(trx, lease, { last_error, failures, due_at }))) return 'lost'
    await noteRun(trx, runOf(crawling, { changed: false, chunks: 0, error: last_error }))
    return 'failed'
  })
}

/** The line of the run log. */
export function runOf(
  { lease, org, started, started_at }: Crawling,
  ended: Pick<Tables['runs'], 'changed' | 'chunks' | 'error'>,
) {
  const duration_ms = Math.round(performance.now() - started)
  const run = { org_id: org.id, source_key: lease.key, kind: 'crawl' as const }
  return { ...run, started_at, duration_ms, ...ended }
}
