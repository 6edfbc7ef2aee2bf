import { ask } from '@guildhall/bus/calls'
import type { PodStatus } from '@guildhall/contracts/compute'
import { findOrg } from '@guildhall/contracts/orgs'
import { newId } from '@guildhall/service/id'
import type { Log } from '@guildhall/service/log'
import { sql } from 'kysely'
import type { Db, LivePod, SessionRow } from '../db.ts'
import type { Deps } from '../deps.ts'
import { act } from '../pods/action.ts'
import { supersede } from '../pods/asked.ts'
import type { Seen } from '../pods/live.ts'
import { liveOf } from '../pods/shown.ts'
import { LEAD_MS, planFor } from './plan.ts'

/** Longer than any request to the pod host with its retries; a process that died frees its pods then. */
const LEASE_SECONDS = 180
const BY = { source: 'job', actor_kind: 'job', actor_id: 'compute.schedule' } as const

/**
 * Starts and stops the pods that have sessions, all at once. Each pod is one process's at a time. What the
 * host refuses or leaves unanswered is tried again at the next run, and holds up no other pod.
 */
export async function runSchedule(deps: Deps, log: Log, signal: AbortSignal): Promise<void> {
  const pods = await podsWithSessions(deps)
  const orgs = [...Map.groupBy(pods, ({ org_id }) => org_id)]
  await Promise.all(
    orgs.map(([orgId, rows]) =>
      runOrg({ deps, log, signal }, orgId, rows).catch((error) =>
        log.warn({ err: error, org: orgId }, 'The pods of an org cannot be looked at now'),
      ),
    ),
  )
}

interface Run {
  deps: Deps
  log: Log
  signal: AbortSignal
}

async function runOrg(run: Run, orgId: number, rows: LivePod[]) {
  const { deps, log } = run
  const seen = await deps.live.nowOrUnknown(orgId)
  if (!seen) return
  const mayStart = await hasCompute(deps, orgId).catch((error) => {
    log.warn({ err: error, org: orgId }, 'Nobody says whether an org has compute: nothing starts')
    return false
  })
  await Promise.all(rows.map((row) => tryPod(run, { row, seen, mayStart })))
}

/** A deactivated org's pods, and those of one that has switched compute off, are stopped and never started. */
async function hasCompute({ bus }: Deps, id: number): Promise<boolean> {
  const { org } = await ask(bus, findOrg, { id })
  return org?.modules.includes('compute') ?? false
}

interface Turn {
  row: LivePod
  seen: Seen
  mayStart: boolean
}

async function tryPod({ deps, log, signal }: Run, turn: Turn) {
  const { id, pod_id } = turn.row
  if (signal.aborted) return
  try {
    const lease = newId()
    if (!(await takeLease(deps.db, id, lease))) return
    await runPod(deps, turn).finally(() => dropLease(deps.db, id, lease))
  } catch (error) {
    log.warn({ err: error, pod_id }, 'A pod could not be started or stopped on time')
  }
}

/** What was read of the pod may be older than another process's run: the sessions are read under the lease. */
async function runPod(deps: Deps, { row, seen, mayStart }: Turn) {
  const { db } = deps
  const sessions = await db
    .selectFrom('sessions')
    .selectAll()
    .where('pod', '=', row.id)
    .where('finished', '=', false)
    .execute()
  const { action, started, over } = planFor(sessions, await statusOf(deps, row, seen), deps.now())
  if (action === 'start' && !mayStart) return
  // before the host is asked: whoever removes the session meanwhile must find that the pod runs for it
  if (action === 'start') await mark(db, started, { started_pod: true })
  if (action) await act(deps, row, action, BY)
  // a stop after an earlier session that the host has not answered would end this one
  else if (started.length > 0) await supersede(db, row)
  await mark(db, started, { started: true })
  await mark(db, over, { finished: true })
  await db.deleteFrom('sessions').where('removed', '=', true).where('finished', '=', true).execute()
}

/** A list may miss a pod; one that goes on running for nobody would cost. */
async function statusOf({ podhost }: Deps, row: LivePod, seen: Seen): Promise<PodStatus> {
  const { status } = liveOf(row, seen)
  if (status !== 'GONE') return status
  return (await podhost.find(row.org_id, row.pod_id))?.status ?? 'GONE'
}

async function mark(
  db: Db,
  sessions: SessionRow[],
  what: Partial<Pick<SessionRow, 'started' | 'started_pod' | 'finished'>>,
) {
  if (sessions.length === 0) return
  const ids = sessions.map(({ id }) => id)
  await db.updateTable('sessions').set(what).where('id', 'in', ids).execute()
}

/** The pods of which a session is open, about to be, over or removed, and not finished. */
async function podsWithSessions({ db, now }: Deps): Promise<LivePod[]> {
  const soon = new Date(now().getTime() + LEAD_MS)
  const rows = await db
    .selectFrom('pods')
    .selectAll()
    .where('state', '=', 'live')
    .where('id', 'in', (sub) =>
      sub
        .selectFrom('sessions')
        .select('pod')
        .where('finished', '=', false)
        .where((where) => where.or([where('start_at', '<=', soon), where('removed', '=', true)])),
    )
    .orderBy('id')
    .execute()
  return rows as LivePod[]
}

/** By the database's clock, which all processes share and no test turns. */
async function takeLease(db: Db, id: string, lease: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('pods')
    .set({
      schedule_lease: lease,
      schedule_lease_until: sql<Date>`now() + make_interval(secs => ${LEASE_SECONDS})`,
    })
    .where('id', '=', id)
    .where((where) =>
      where.or([
        where('schedule_lease', 'is', null),
        where('schedule_lease_until', '<', sql<Date>`now()`),
      ]),
    )
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

async function dropLease(db: Db, id: string, lease: string) {
  await db
    .updateTable('pods')
    .set({ schedule_lease: null, schedule_lease_until: null })
    .where('id', '=', id)
    .where('schedule_lease', '=', lease)
    .execute()
}
