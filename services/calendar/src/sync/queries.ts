import type { FailedRun } from '@guildhall/bus/jobs'
import type { CalendarRun, Counts } from '@guildhall/contracts/calendar'
import { AppError } from '@guildhall/service/errors'
import { sql } from 'kysely'
import type { Db, RunRow, Trx } from '../db.ts'
import type { Lease } from './lease.ts'

/** A run that is not over, of which an org has one at most. */
export const unfinishedRun = (db: Db, orgId: number) =>
  db
    .selectFrom('runs')
    .select(['id', 'force'])
    .where('org_id', '=', orgId)
    .where('status', '=', 'started')
    .executeTakeFirst()

const INTERRUPTED = {
  error: 'It was interrupted again and again; the next sync repairs what it left',
  code: 'calendar.interrupted',
}
const isNotHeld = sql<boolean>`(leased_until is null or leased_until < now())`

/** Ends a run whose job has failed for good, with what it said. One that a process still works on ends by itself. */
export const endFailed = (trx: Trx, { run_id, error }: FailedRun, now: Date) =>
  trx
    .updateTable('runs')
    .set({ status: 'failed', ...saidOf(error, INTERRUPTED), finished_at: now })
    .where('id', '=', run_id)
    .where('status', '=', 'started')
    .where(isNotHeld)
    .execute()

/** Opens a run again that has failed. Throws the violation of `runs_one_at_a_time` where another is under way. */
export const openAgain = (trx: Trx, id: string, now: Date) =>
  trx
    .updateTable('runs')
    .set({ status: 'started', error: null, code: null, started_at: now, finished_at: null })
    .where('id', '=', id)
    .where('status', '=', 'failed')
    .execute()

/** Ends runs for which there is no job any more, so that they stand in nobody's way. */
export async function endLost(db: Db, now: Date, orgId?: number): Promise<void> {
  const alive = db.selectFrom('job_runs').select('id').where('state', 'in', ['queued', 'running'])
  let query = db
    .updateTable('runs')
    .set({ status: 'failed', ...INTERRUPTED, finished_at: now })
    .where('status', '=', 'started')
    .where(isNotHeld)
    .where('id', 'not in', alive)
  if (orgId !== undefined) query = query.where('org_id', '=', orgId)
  await query.execute()
}

/** What is kept of an error; `other` of one that was not meant to be read. */
export const saidOf = (error: unknown, other: { error: string; code: string }) =>
  error instanceof AppError ? { error: error.message, code: error.code } : other

/** Adds a run; false where one of the org is not over. */
export async function insertRun(
  db: Db,
  run: { id: string; org_id: number; force: boolean; started_at: Date },
): Promise<boolean> {
  const row = await db
    .insertInto('runs')
    .values({ ...run, error: null, code: null, finished_at: null, lease_id: null })
    .onConflict((on) => on.doNothing())
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}

export interface Ending extends Counts {
  status: 'success' | 'failed'
  error: string | null
  code: string | null
}

/** Ends the run, if the lease still holds, and notes when the org was last synced. */
export async function endRun(trx: Trx, lease: Lease, ending: Ending, now: Date): Promise<void> {
  const { skipped, ...rest } = ending
  const row = { ...rest, skipped: JSON.stringify(skipped), finished_at: now }
  const { numUpdatedRows } = await trx
    .updateTable('runs')
    .set({ ...row, lease_id: null, leased_until: null })
    .where('id', '=', lease.id)
    .where('lease_id', '=', lease.lease_id)
    .executeTakeFirst()
  if (numUpdatedRows === 0n || ending.status === 'failed') return
  await trx
    .updateTable('settings')
    .set({ last_sync_at: now })
    .where('org_id', '=', lease.org_id)
    .execute()
}

export async function runOf(db: Db, orgId: number, id: string): Promise<CalendarRun | undefined> {
  const row = await db
    .selectFrom('runs')
    .selectAll()
    .where('org_id', '=', orgId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row && shownRun(row)
}

/** Up to `limit` runs older than the one with the id `before`, newest first. */
export async function runsOf(
  db: Db,
  orgId: number,
  { before, limit }: { before: string | undefined; limit: number },
): Promise<CalendarRun[]> {
  let query = db
    .selectFrom('runs')
    .selectAll()
    .where('org_id', '=', orgId)
    .orderBy('id', 'desc')
    .limit(limit)
  if (before !== undefined) query = query.where('id', '<', sql<string>`${before}::uuid`)
  return (await query.execute()).map(shownRun)
}

function shownRun(row: RunRow): CalendarRun {
  const { id: run_id, org_id, force, lease_id, leased_until, ...run } = row
  const finished_at = run.finished_at?.toISOString() ?? null
  return { ...run, run_id, started_at: run.started_at.toISOString(), finished_at }
}
