import { handles, pruneBus } from '@guildhall/bus/jobs'
import { forgetMended } from '@guildhall/contracts/notifications'
import { pruneJobs } from '@guildhall/contracts/ops'
import { sql } from 'kysely'
import type { Deps } from './deps.ts'
import { forgetMendedOf } from './notifications/mended.ts'

/** Days that things are kept (decisions.md § 8). */
const AUDIT_DAYS = 365
const ERROR_DAYS = 90
/** Longer than the stream keeps an event, so that none is counted twice. */
const SEEN_DAYS = 8

/** What ops runs. */
export const jobHandlers = (deps: Deps) => [
  handles(forgetMended, () => forgetMendedOf(deps)),
  handles(pruneJobs.ops, async () => {
    const { db } = deps
    await sql`delete from audit_entries where created_at < now() - make_interval(days => ${AUDIT_DAYS})`.execute(
      db,
    )
    await sql`delete from error_groups where last_seen < now() - make_interval(days => ${ERROR_DAYS})`.execute(
      db,
    )
    await sql`delete from error_events_seen where seen_at < now() - make_interval(days => ${SEEN_DAYS})`.execute(
      db,
    )
    // the newest tick of each job stays: it tells what has run
    await sql`delete from ticks where due_at < now() - interval '2 days'
      and due_at < (select max(due_at) from ticks as newer where newer.job = ticks.job)`.execute(db)
    await pruneBus(db)
  }),
]
