import { ask } from '@guildhall/bus/calls'
import { queueJob, type RetriedRun } from '@guildhall/bus/jobs'
import { audit, enqueue } from '@guildhall/bus/outbox'
import { calendarSyncStarted, syncOrg } from '@guildhall/contracts/calendar'
import { findOrg } from '@guildhall/contracts/orgs'
import { violates } from '@guildhall/db/violations'
import { AppError, isDatabaseAway } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import type { Trx } from '../db.ts'
import type { Deps } from '../deps.ts'
import { endLost, insertRun, openAgain, unfinishedRun } from './queries.ts'

type By = Parameters<typeof audit>[1]

/**
 * Starts a sync of an org, or answers the one that is under way: a calendar has one at a time. Throws
 * `calendar.syncing` where one is under way that was not asked to delete, and this is.
 */
export async function startSync(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  org: { id: number },
  { force, by }: { force: boolean; by: By },
): Promise<string> {
  const id = newId()
  const run = { id, org_id: org.id, force }
  for (let tries = 0; tries < TRIES; tries++) {
    if (await isStarted({ db, now }, run, by)) return id
    const underWay = await unfinishedRun(db, org.id)
    if (underWay && force && !underWay.force) throw syncing()
    if (underWay) return underWay.id
  }
  throw syncing()
}

/** The run that was in the way may be over by the time it is looked at. */
const TRIES = 3

const isStarted = (
  { db, now }: Pick<Deps, 'db' | 'now'>,
  run: { id: string; org_id: number; force: boolean },
  by: By,
) =>
  db.transaction().execute(async (trx) => {
    const { id, org_id, force } = run
    await endLost(trx, now(), org_id)
    if (!(await insertRun(trx, { ...run, started_at: now() }))) return false
    await queueJob(trx, syncOrg, { org_id, force }, id)
    await enqueue(trx, audit(calendarSyncStarted, by, { id: org_id }, { run_id: id, force }))
    return true
  })

/** Starts the sync of a failed job that is run again. Throws `calendar.syncing` where another of its org is under way. */
export async function startAgain(trx: Trx, { run_id }: RetriedRun, now: Date): Promise<void> {
  const run = await trx
    .selectFrom('runs')
    .select('org_id')
    .where('id', '=', run_id)
    .executeTakeFirst()
  if (!run) return // it is older than what is kept; the job writes it anew
  await endLost(trx, now, run.org_id)
  await openAgain(trx, run_id, now).catch((error) => {
    throw violates(error, 'runs_one_at_a_time') ? syncing() : error
  })
}

const BY_SCHEDULE = { source: 'job', actor_kind: 'job', actor_id: null } as const

/**
 * Starts a sync of every org that wants it, has calendar on and is active. One that cannot be started keeps no other from
 * it; throws where none could.
 */
export async function startEnabled(deps: Deps): Promise<{ started: number }> {
  const rows = await deps.db
    .selectFrom('settings')
    .select('org_id')
    .where('calendar_sync_enabled', '=', true)
    .where('notes_database_id', 'is not', null)
    .orderBy('org_id')
    .execute()
  let started = 0
  let fault: unknown
  for (const { org_id } of rows) {
    try {
      if (await startOne(deps, org_id)) started += 1
    } catch (error) {
      if (isDatabaseAway(error)) throw error
      deps.log.warn({ err: error, org: org_id }, 'A sync could not be started')
      fault = error
    }
  }
  if (fault && started === 0) throw fault
  return { started }
}

async function startOne(deps: Deps, id: number): Promise<boolean> {
  const { org } = await ask(deps.bus, findOrg, { id })
  if (!org?.modules.includes('calendar')) return false
  await startSync(deps, org, { force: false, by: BY_SCHEDULE })
  return true
}

const syncing = () =>
  new AppError(
    'conflict',
    'calendar.syncing',
    'Another sync of this calendar is under way; try again once it is over',
    { retryAfter: 10 },
  )
