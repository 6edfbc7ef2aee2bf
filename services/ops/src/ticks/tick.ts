import { setTimeout as wait } from 'node:timers/promises'
import { enqueue, queued } from '@guildhall/bus/outbox'
import { syncAllOrgs } from '@guildhall/contracts/calendar'
import { jobs } from '@guildhall/contracts/calls'
import type { Job } from '@guildhall/contracts/job'
import { isDatabaseAway } from '@guildhall/service/errors'
import type { Config } from '../config.ts'
import type { Deps } from '../deps.ts'
import { lastDue } from './rules.ts'

/** How late a tick may start. */
const LOOK_MS = 1_000

/** The jobs with the times at which they run here: those of the deployment's choice among them. */
export const jobsBy = ({ CALENDAR_SYNC_CRON: cron }: Pick<Config, 'CALENDAR_SYNC_CRON'>): Job[] =>
  jobs.map((job) => (job.name === syncAllOrgs.name && cron ? { ...job, cron } : job))

/**
 * Starts each scheduled job once when it is due, until `signal` aborts. Any number of replicas may: the
 * primary key lets one start a tick. After an outage only the newest missed tick of each job runs.
 */
export async function keepTicking(deps: Deps, scheduled: Job[], signal: AbortSignal) {
  const { now } = deps
  const seen: Seen = new Map()
  while (!signal.aborted) {
    await startDue(deps, now(), scheduled, seen)
    await wait(LOOK_MS, undefined, { signal }).catch(() => {})
  }
}

/** The tick of each job that was started last, here or elsewhere, so that the database is not asked each second. */
type Seen = Map<string, number>

/** Starts what is due at `at` and was not started yet; answers the names. One that fails stops no other. */
export async function startDue(
  { db, log }: Pick<Deps, 'db' | 'log'>,
  at: Date,
  scheduled: Job[] = jobs,
  seen: Seen = new Map(),
): Promise<string[]> {
  const started = []
  for (const job of scheduled) {
    try {
      const due = lastDue(job, at)
      if (!due || seen.get(job.name) === due.getTime()) continue
      if (await startTick({ db }, job, due)) started.push(job.name)
      seen.set(job.name, due.getTime())
    } catch (error) {
      const level = isDatabaseAway(error) ? 'warn' : 'error'
      log[level]({ err: error, job: job.name }, 'A scheduled job could not be started')
    }
  }
  return started
}

function startTick({ db }: Pick<Deps, 'db'>, job: Job, due_at: Date): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    const row = { job: job.name, due_at }
    const mine = await trx
      .insertInto('ticks')
      .values(row)
      .onConflict((on) => on.doNothing())
      .returning('job')
      .executeTakeFirst()
    if (mine) await enqueue(trx, queued(job, {}))
    return mine !== undefined
  })
}
