import { ask } from '@guildhall/bus/calls'
import type { JobContext } from '@guildhall/bus/jobs'
import type { Counts } from '@guildhall/contracts/calendar'
import { findOrg } from '@guildhall/contracts/orgs'
import { AppError, isDatabaseAway } from '@guildhall/service/errors'
import type { Deps } from '../deps.ts'
import { readPage } from '../events/read-page.ts'
import { settingsOf } from '../settings/queries.ts'
import { applyPlan, skip } from './apply.ts'
import { calendarIdOf } from './calendar-id.ts'
import { giveBack, keepLease, type Lease, takeLease } from './lease.ts'
import { planOf } from './plan.ts'
import { type Ending, endRun, insertRun, saidOf } from './queries.ts'

/**
 * The job calendar.sync. What fails ends the run with the reason, for an officer to read; one whose process ends is taken
 * up again by the next attempt, which finds in the calendar what was done.
 */
export async function runSync(
  deps: Deps,
  { org_id, force }: { org_id: number; force: boolean },
  { run_id, signal, log }: JobContext,
) {
  const { db, now } = deps
  await insertRun(db, { id: run_id, org_id, force, started_at: now() }) // asked for by the operator
  const lease = await takeLease(db, run_id)
  if (!lease) return leaveAlone(deps, run_id)
  using kept = keepLease(db, lease)
  try {
    const stopped = AbortSignal.any([signal, kept.signal])
    const ending = await endingOf(deps, lease, { stopped, log })
    await db.transaction().execute((trx) => endRun(trx, lease, ending, now()))
    deps.events.expire(org_id)
    const { skipped, ...result } = ending
    return { ...result, skipped: skipped.length }
  } catch (error) {
    await giveBack(db, lease)
    throw error
  }
}

/** What became of the sync. Throws what another attempt may get over. */
async function endingOf(
  deps: Deps,
  lease: Lease,
  { stopped, log }: { stopped: AbortSignal; log: JobContext['log'] },
): Promise<Ending> {
  const counts: Counts = { created: 0, updated: 0, deleted: 0, unchanged: 0, skipped: [] }
  try {
    await sync(deps, lease, counts, stopped)
    return { ...counts, status: 'success', error: null, code: null }
  } catch (error) {
    if (stopped.aborted || isDatabaseAway(error) || isAuthAway(error)) throw error
    const level = error instanceof AppError ? 'warn' : 'error'
    log[level]({ err: error, org: lease.org_id }, 'A calendar was not synced')
    return { ...counts, ...saidOf(error, INTERNAL), status: 'failed' }
  }
}

const INTERNAL = { error: 'Internal error; tell the operator', code: 'internal' }

/** Where auth or its secrets do not answer; what the org has not set is our own `unavailable`. */
const isAuthAway = (error: unknown) =>
  error instanceof AppError && error.kind === 'unavailable' && !error.code.startsWith('calendar.')

/** A run that is over needs nothing more. Throws where another process has it, to look again later. */
async function leaveAlone({ db }: Deps, id: string) {
  const run = await db.selectFrom('runs').select('status').where('id', '=', id).executeTakeFirst()
  if (run && run.status !== 'started') return { status: run.status }
  throw new AppError(
    'unavailable',
    'calendar.syncing',
    'Another sync of this calendar is under way; it is tried again',
  )
}

/** Reads both sides as a whole before anything is changed. */
async function sync(deps: Deps, { org_id, force }: Lease, counts: Counts, signal: AbortSignal) {
  const { db, bus, accounts, config } = deps
  const { org } = await ask(bus, findOrg, { id: org_id })
  if (!org?.modules.includes('calendar')) throw switchedOff()
  const settings = await settingsOf(db, org_id)
  const { notes, databaseId } = await accounts.notes(settings, signal)
  if (!settings) throw switchedOff()
  const { calendars, own } = await accounts.calendars(settings, signal)
  const timeZone = config.TIMEZONE
  const read = (await notes.pages(databaseId)).map((page) => readPage(page, timeZone))
  const events = read.flatMap((one) => ('reason' in one ? [] : [one]))
  const skipped = read.flatMap((one) => ('reason' in one ? [one] : []))
  for (const page of skipped) skip(counts, page)
  const calendarId = await calendarIdOf(deps, org, { settings, calendars, own })
  const existing = await calendars.events(calendarId)
  const skippedPages = skipped.map(({ page }) => page)
  const plan = planOf({ events, skippedPages }, existing, { force, timeZone, orgId: org_id })
  await applyPlan({ notes, calendars, calendarId, timeZone, orgId: org_id, signal }, plan, counts)
}

const switchedOff = () =>
  new AppError(
    'conflict',
    'calendar.switched_off',
    'The org is not active, or has calendar switched off',
  )
