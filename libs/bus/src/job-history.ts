import { ownerOfJob } from '@guildhall/contracts/job'
import {
  jobRetried,
  jobServices,
  listJobRuns,
  retryJobRun,
  tellJobDays,
} from '@guildhall/contracts/job-runs'
import type { JobRun } from '@guildhall/contracts/ops'
import type { Db, Trx } from '@guildhall/db/open'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import { type Selectable, sql } from 'kysely'
import type { z } from 'zod'
import { answer } from './calls.ts'
import type { Bus } from './connect.ts'
import type { JobHandler } from './jobs.ts'
import { audit, enqueue, queued } from './outbox.ts'
import type { BusTables } from './tables.ts'

/** What an answer may have of errors and results: a message of NATS is 1 MiB at most. */
const MOST_PAGE_BYTES = 800_000
/** Of JSON in UTF-8, in nearly every text. */
const BYTES_PER_CHAR = 3

type Row = Selectable<BusTables['job_runs']>
type Retry = z.output<ReturnType<typeof retryJobRun>['args']>

/** Answers ops for the dashboards of orgs: the runs of an org, how many there were, and one to run again. */
export function answerHistoryCalls(bus: Bus, db: Db<BusTables>, handlers: JobHandler[]) {
  const service = jobServices.find((one) => one === bus.peer)
  if (!service) return
  answer(bus, listJobRuns(service), async ({ org_id, before, limit, state }) => {
    let query = db.selectFrom('job_runs').selectAll().where('org_id', '=', org_id)
    if (before !== undefined) query = query.where('id', '<', before)
    if (state !== undefined) query = query.where('state', '=', state)
    const rows = await query.orderBy('id', 'desc').limit(limit).execute()
    const most = Math.floor(MOST_PAGE_BYTES / limit / BYTES_PER_CHAR / 2)
    return { runs: rows.map((row) => shortRun(shownRun(row), most)) }
  })
  answer(bus, tellJobDays(service), async ({ org_id, since }) => {
    const { rows } = await sql<{ date: string; value: number; failed: number }>`
      select to_char(queued_at at time zone 'UTC', 'YYYY-MM-DD') as date, count(*)::int as value,
        (count(*) filter (where state = 'failed'))::int as failed
      from job_runs where org_id = ${org_id} and queued_at >= ${since} group by 1`.execute(db)
    return { days: rows }
  })
  answer(bus, retryJobRun(service), async (asked) => ({
    run: await db.transaction().execute((trx) => retry(trx, handlers, asked)),
  }))
}

/**
 * Opens a failed run again and sends it under an id of its own, as the stream has seen the first one's. Of many who ask
 * at once one does it. Throws `job.not_failed` and `job.once` (409), and what the handler refuses it with.
 */
async function retry(trx: Trx<BusTables>, handlers: JobHandler[], { org_id, id, by }: Retry) {
  const run = await trx
    .selectFrom('job_runs')
    .selectAll()
    .where('id', '=', id)
    .where('org_id', '=', org_id)
    .forUpdate()
    .executeTakeFirst()
  if (!run) return null
  const handler = handlers.find((one) => one.job.name === run.job)
  const job = handler?.job
  if (run.state !== 'failed') throw notFailed(run)
  if (!job || job.once) throw onlyOnce(run, job?.once)
  const reset = { started_at: null, finished_at: null, error: null, result: null }
  const opened = await trx
    .updateTable('job_runs')
    .set({ state: 'queued', attempts: 0, ...reset })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
  await handler.retried?.(trx as never, { run_id: id })
  await enqueue(
    trx,
    { ...queued(job, run.args, id), id: newId() },
    audit(jobRetried(ownerOfJob(job)), by, { id: org_id }, { job: job.name, run_id: id }),
  )
  return shownRun(opened)
}

/** A run whose error has so many characters at most, and its result where that has no more. */
const shortRun = ({ error, result, ...run }: JobRun, most: number): JobRun => ({
  ...run,
  error: error?.slice(0, most).toWellFormed() ?? null,
  result: JSON.stringify(result).length > most ? null : result,
})

/** A run as it is told; its arguments stay here. */
export function shownRun({
  args,
  org_id,
  queued_at,
  started_at,
  finished_at,
  ...rest
}: Row): JobRun {
  return {
    ...rest,
    queued_at: queued_at.toISOString(),
    started_at: started_at?.toISOString() ?? null,
    finished_at: finished_at?.toISOString() ?? null,
  }
}

const notFailed = ({ state }: Row) =>
  new AppError(
    'conflict',
    'job.not_failed',
    `Only a failed job can be run again; this one is ${state}`,
  )

const onlyOnce = ({ job }: Row, why = 'this service does not know the job any more') =>
  new AppError('conflict', 'job.once', `${job} cannot be run again: ${why}`)
