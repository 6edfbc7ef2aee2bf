import { ask } from '@guildhall/bus/calls'
import { queueJob } from '@guildhall/bus/jobs'
import { audit, enqueue } from '@guildhall/bus/outbox'
import { calendarSyncStarted, syncOrg } from '@guildhall/contracts/calendar'
import { findOrg } from '@guildhall/contracts/orgs'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import type { Deps } from '../deps.ts'
import { endDead, insertRun, unfinishedRun } from './queries.ts'

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
  const started = await db.transaction().execute(async (trx) => {
    await endDead(trx, org.id, now())
    const run = { id, org_id: org.id, force, started_at: now() }
    if (!(await insertRun(trx, run))) return false
    await queueJob(trx, syncOrg, { org_id: org.id, force }, id)
    await enqueue(trx, audit(calendarSyncStarted, by, org, { run_id: id, force }))
    return true
  })
  if (started) return id
  const underWay = await unfinishedRun(db, org.id)
  if (!underWay || (force && !underWay.force)) throw syncing()
  return underWay.id
}

const BY_SCHEDULE = { source: 'job', actor_kind: 'job', actor_id: null } as const

/** Starts a sync of every org that wants it, has calendar on and is active. */
export async function startEnabled(deps: Deps): Promise<{ started: number }> {
  const rows = await deps.db
    .selectFrom('settings')
    .select('org_id')
    .where('calendar_sync_enabled', '=', true)
    .where('notes_database_id', 'is not', null)
    .orderBy('org_id')
    .execute()
  let started = 0
  for (const { org_id } of rows) {
    const { org } = await ask(deps.bus, findOrg, { id: org_id })
    if (!org?.modules.includes('calendar')) continue
    await startSync(deps, org, { force: false, by: BY_SCHEDULE })
    started += 1
  }
  return { started }
}

const syncing = () =>
  new AppError(
    'conflict',
    'calendar.syncing',
    'Another sync of this calendar is under way; try again once it is over',
    { retryAfter: 10 },
  )
