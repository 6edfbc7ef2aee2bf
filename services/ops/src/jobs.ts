import { handles, pruneBus } from '@guildhall/bus/jobs'
import { forgetMended } from '@guildhall/contracts/notifications'
import { pruneJobs } from '@guildhall/contracts/ops'
import { deleteOld } from '@guildhall/db/delete-old'
import { sql } from 'kysely'
import type { Deps } from './deps.ts'
import { forgetMendedOf } from './notifications/mended.ts'

/** Days that things are kept (decisions.md § 8). */
const AUDIT_DAYS = 365
const ERROR_DAYS = 90
/** Longer than the stream keeps an event, so that none is counted twice. */
const SEEN_DAYS = 8

const olderThan = (column: string, days: number) =>
  sql`${sql.ref(column)} < now() - make_interval(days => ${days})`

/** What ops runs. */
export const jobHandlers = (deps: Deps) => [
  handles(forgetMended, () => forgetMendedOf(deps)),
  handles(pruneJobs.ops, async () => {
    const { db } = deps
    await deleteOld(db, 'audit_entries', olderThan('created_at', AUDIT_DAYS))
    await deleteOld(db, 'error_groups', olderThan('last_seen', ERROR_DAYS))
    await deleteOld(db, 'error_events_seen', olderThan('seen_at', SEEN_DAYS))
    // the newest tick of each job stays: it tells what has run
    await sql`delete from ticks where due_at < now() - interval '2 days'
      and due_at < (select max(due_at) from ticks as newer where newer.job = ticks.job)`.execute(db)
    await pruneBus(db)
  }),
]
