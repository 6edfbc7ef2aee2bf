import { setTimeout as wait } from 'node:timers/promises'
import { HackathonsConfig, JobsConfig, type runFeed } from '@guildhall/contracts/alerts'
import { AppError, isDatabaseAway } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import type { z } from 'zod'
import { activeOrg } from '../clients/orgs.ts'
import type { FeedRow } from '../db.ts'
import type { Deps } from '../deps.ts'
import { readHackathons } from '../hackathons/read.ts'
import type { Listing } from '../items/found.ts'
import { readJobs } from '../job-list/read.ts'
import { isDue } from './due.ts'
import { endLease, keepLease, LEASE_SECONDS, type Lease, takeLease } from './leases.ts'
import { postNew } from './post-new.ts'
import { findFeed } from './queries.ts'
import { record } from './record.ts'

type Asked = z.output<(typeof runFeed)['args']>

/** How a run ended. `not_taken`: the feed is gone, or not due any more. `lost`: so it became on the way. */
export type Result =
  | { outcome: 'not_taken' | 'lost' }
  | { outcome: 'ran'; found: number; new: number; posted: number; error: string | null }

/**
 * Runs one feed: reads its lists, remembers what they hold and posts what is new. What is wrong with lists or webhook
 * ends in `last_error` and the run log. Throws `feed.in_hand` (503), to be tried again, while another run has the feed.
 */
export async function run(deps: Deps, asked: Asked, stop: AbortSignal): Promise<Result> {
  const { db, bus, now } = deps
  const { org_id, if_due } = asked
  if (!(await activeOrg(bus, org_id))) return { outcome: 'not_taken' }
  const isWanted = (feed: FeedRow) => !if_due || isDue(feed, now())
  const lease = await leaseInTurn(db, asked, { isWanted, stop })
  if (!lease) return { outcome: 'not_taken' }
  if (!isWanted(lease)) {
    await db.transaction().execute((trx) => endLease(trx, lease, {}))
    return { outcome: 'not_taken' }
  }
  using kept = keepLease(db, lease)
  const signal = AbortSignal.any([stop, kept.signal])
  return runLeased(deps, { lease, postExisting: asked.post_existing, stop, signal })
}

/** A run that ended with its process is outlasted in line: coming back later would take far longer. */
const IN_LINE_MS = LEASE_SECONDS * 1000 + 1_000
const LOOK_AGAIN_MS = 250

/** Nothing where the feed is gone or not wanted. Throws `feed.in_hand` where another run has it for long. */
async function leaseInTurn(
  db: Deps['db'],
  { org_id, key }: Asked,
  { isWanted, stop }: { isWanted: (feed: FeedRow) => boolean; stop: AbortSignal },
): Promise<Lease | undefined> {
  const deadline = performance.now() + IN_LINE_MS
  for (;;) {
    const lease = await takeLease(db, org_id, key)
    if (lease) return lease
    const feed = await findFeed(db, org_id, key)
    if (!feed || !isWanted(feed)) return undefined
    if (stop.aborted || performance.now() > deadline) throw inHand(key)
    await wait(LOOK_AGAIN_MS, undefined, { signal: stop }).catch(() => {}) // only ever an abort
  }
}

interface Running {
  lease: Lease
  postExisting: boolean
  /** The process stops. */
  stop: AbortSignal
  /** The process stops, or the lease is lost. */
  signal: AbortSignal
}

async function runLeased(deps: Deps, running: Running): Promise<Result> {
  const { db, now } = deps
  const { lease, stop } = running
  const started = performance.now()
  const started_at = now()
  const counts = await work(deps, running).catch((error) => {
    if (isDatabaseAway(error)) throw error
    return { found: 0, new: 0, posted: 0, error: told(deps, lease, error) }
  })
  if (stop.aborted) {
    await db.transaction().execute((trx) => endLease(trx, lease, {}))
    throw new AppError('unavailable', 'feed.stopped', 'The process stops; the run is tried again')
  }
  if (!counts) return { outcome: 'lost' }
  const duration_ms = Math.round(performance.now() - started)
  const ended = await db.transaction().execute(async (trx) => {
    const ending = { last_run_at: started_at, last_error: counts.error }
    if (!(await endLease(trx, lease, ending))) return false
    const row = { id: newId(), feed_id: lease.id, started_at, duration_ms, ...counts }
    await trx.insertInto('alert_runs').values(row).execute()
    return true
  })
  return ended ? { outcome: 'ran', ...counts } : { outcome: 'lost' }
}

/** Nothing where the lease was lost. */
async function work(deps: Deps, { lease, postExisting, signal }: Running) {
  const { db, now } = deps
  const listing = await readLists(deps, lease, signal)
  const recorded = await record(db, lease, listing, { now: now(), postExisting })
  if (!recorded) return undefined
  const counts = { found: listing.items.filter(({ fits }) => fits).length, new: recorded.fresh }
  const tell = (error: unknown) => told(deps, lease, error)
  const { posted, errors } = await postNew(deps, lease, { signal, tell })
  const faults = [listing.error, ...errors].filter((one) => one !== null)
  return { ...counts, posted, error: faults.join('; ') || null }
}

function readLists({ config, now }: Deps, feed: Lease, signal: AbortSignal): Promise<Listing> {
  return feed.kind === 'github_jobs'
    ? readJobs(config, JobsConfig.parse(feed.config), now(), signal)
    : readHackathons(config, HackathonsConfig.parse(feed.config), now(), signal)
}

/** What officers are told of it; its causes are for the log. */
function told({ log }: Deps, { key }: Lease, error: unknown): string {
  if (isDatabaseAway(error)) throw error
  if (error instanceof AppError) {
    log.info({ err: error, feed: key }, 'A run of an alert feed failed')
    return error.message
  }
  log.error({ err: error, feed: key }, 'A run of an alert feed failed by a fault of ours')
  return 'Internal error; it is tried again'
}

const inHand = (key: string) =>
  new AppError(
    'unavailable',
    'feed.in_hand',
    `${key} is being run at the moment; it is tried again`,
  )
