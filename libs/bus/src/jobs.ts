import { durableOfJob, type Job, ownerOfJob, subjectOfJob } from '@guildhall/contracts/job'
import type { Service } from '@guildhall/contracts/names'
import { findJobRun, type JobRun, jobStarted, startJob } from '@guildhall/contracts/ops'
import { deleteOld } from '@guildhall/db/delete-old'
import type { Db, Trx } from '@guildhall/db/open'
import { AppError, isDatabaseAway, mayGetBetter } from '@guildhall/service/errors'
import type { Log } from '@guildhall/service/log'
import { jobSeconds } from '@guildhall/service/metrics'
import { storable } from '@guildhall/service/storable'
import { inTrace, traceFrom } from '@guildhall/service/trace'
import { traceStep } from '@guildhall/service/tracker'
import { sql } from 'kysely'
import { z } from 'zod'
import { answer } from './calls.ts'
import type { Bus } from './connect.ts'
import { consume } from './consume.ts'
import { answerHistoryCalls, shownRun } from './job-history.ts'
import { audit, deadLetter, enqueue, queued } from './outbox.ts'
import type { BusTables } from './tables.ts'

/** Longest error of a run that is kept. */
const MOST_ERROR_CHARS = 2_000

/** What a job's handler is told beside its arguments. */
export interface JobContext {
  run_id: string
  log: Log
  /** Aborts when the process stops: long work ends and is run again. */
  signal: AbortSignal
}

/** A run that has failed for good, and why. */
export interface FailedRun {
  run_id: string
  error: Error
}

/** A run that had failed, and that somebody runs again. */
export type RetriedRun = Pick<FailedRun, 'run_id'>

/** A job and what runs it. What it returns is kept as the run's result. */
export interface JobHandler {
  job: Job
  run(args: never, context: JobContext): Promise<unknown>
  /** Told in the transaction that ends a run as failed, whatever ended it: the process too. */
  failed?(trx: never, run: FailedRun): Promise<unknown>
  /** Told in the transaction that opens a failed run again; what it throws refuses that. */
  retried?(trx: never, run: RetriedRun): Promise<unknown>
}

/**
 * Pairs a job with its handler, so that the arguments have their type. Throws where a job that may be run again would hear
 * that a run has failed, and not that it is open again: it would take the run for over, and do nothing.
 */
export function handles<J extends Job, T extends BusTables = BusTables>(
  job: J,
  run: (args: z.output<J['args']>, context: JobContext) => Promise<unknown>,
  failed?: (trx: Trx<T>, run: FailedRun) => Promise<unknown>,
  retried?: (trx: Trx<T>, run: RetriedRun) => Promise<unknown>,
): JobHandler {
  if (failed && !retried && !job.once)
    throw new Error(`${job.name}: a handler with failed needs retried too, or its job says once`)
  return { job, run, ...(failed && { failed }), ...(retried && { retried }) }
}

/** Queues a job in the transaction that asks for it, where it is seen as `queued` at once. */
export async function queueJob<T extends BusTables, J extends Job>(
  trx: Trx<T>,
  job: J,
  args: z.input<J['args']>,
  id?: string,
) {
  const outgoing = queued(job, args, id)
  await insertRun(trx as unknown as Trx<BusTables>, job, outgoing.id, job.args.parse(args))
  await enqueue(trx, outgoing)
  return outgoing.id
}

/** Runs the service's jobs until `signal` aborts, and answers `start_job` and `find_job_run`. */
export async function runJobs<T extends BusTables>(
  bus: Bus,
  database: Db<T>,
  handlers: JobHandler[],
  signal: AbortSignal,
) {
  const db = database as unknown as Db<BusTables>
  answerJobCalls(bus, db, handlers)
  answerHistoryCalls(bus, db, handlers)
  await Promise.all(
    handlers.map((handler) =>
      consume(
        bus,
        {
          stream: 'JOBS',
          durable: durableOfJob(handler.job),
          subject: subjectOfJob(handler.job),
          concurrency: handler.job.concurrency,
          handle: (message) => runInTrace(bus, db, handler, message.json(), signal),
        },
        signal,
      ),
    ),
  )
}

const Queued = z.object({
  id: z.uuid(),
  args: z.record(z.string(), z.unknown()),
  traceparent: z.string().optional(),
})
type Queued = Pick<z.output<typeof Queued>, 'id' | 'args'>

/** The run is a step of the trace that queued it, and all that it logs names the job and the org. */
async function runInTrace(
  bus: Bus,
  db: Db<BusTables>,
  handler: JobHandler,
  message: unknown,
  signal: AbortSignal,
) {
  const { traceparent, ...queued } = Queued.parse(message)
  const { name } = handler.job
  const trace = { ...traceFrom(traceparent), job: name, org: orgOf(queued.args) ?? undefined }
  const began = performance.now()
  await inTrace(trace, () => runOnce(bus, db, handler, queued, signal))
  const seconds = (performance.now() - began) / 1000
  traceStep({ trace, name, op: 'queue.process', service: bus.peer, seconds })
}

/** Throws to have the run tried again; a run that is over is not run again. */
async function runOnce(
  bus: Bus,
  db: Db<BusTables>,
  handler: JobHandler,
  { id, args }: Queued,
  signal: AbortSignal,
) {
  const { job, run } = handler
  await insertRun(db, job, id, args)
  const attempt = await claim(db, id)
  if (!attempt) return
  const log = bus.log.child({ run_id: id })
  const failedAs = (error: Error) => bury(db, handler, { id, args }, { attempt, error, log })
  // one that ended with its process again and again has never come to the catch below
  if (attempt > job.attempts) return failedAs(new Error(`The process ended while ${job.name} ran`))
  const ran = jobSeconds.startTimer({ job: job.name })
  try {
    const result = await run(argsOf(job, args) as never, { run_id: id, log, signal })
    await finish(db, id, attempt, {
      state: 'done',
      error: null,
      result: storableJson(result ?? null),
    })
    ran({ outcome: 'done' })
  } catch (error) {
    ran({ outcome: 'failed' })
    if (signal.aborted) await giveBack(db, id, attempt)
    if (signal.aborted || isDatabaseAway(error)) throw error
    if (attempt < job.attempts && mayGetBetter(error)) throw error
    await failedAs(error as Error)
  }
}

/** Throws a refusal, which no second attempt changes. */
function argsOf(job: Job, args: unknown) {
  const parsed = job.args.safeParse(args)
  if (parsed.success) return parsed.data
  const said = parsed.error.issues.map(({ path, message }) => `/${path.join('/')}: ${message}`)
  throw new AppError('invalid', 'job.invalid', `${job.name}: ${said.join('; ')}`)
}

/** The texts of a result are of the outside world now and then. */
const storableJson = (result: unknown) =>
  JSON.stringify(result, (_key, value) => (typeof value === 'string' ? storable(value) : value))

const unstarted = { started_at: null, finished_at: null, error: null, result: null }

/** The org whose officers see the run. Arguments of the command line are texts. */
function orgOf(args: { org_id?: unknown }): number | null {
  const id = Number(args.org_id)
  return Number.isInteger(id) && id > 0 && id < 2 ** 31 ? id : null
}

async function insertRun(db: Db<BusTables>, job: Job, id: string, args: object) {
  const row = { id, job: job.name, args: JSON.stringify(args), state: 'queued' as const }
  await db
    .insertInto('job_runs')
    .values({ ...row, ...unstarted, org_id: orgOf(args) })
    .onConflict((on) => on.column('id').doNothing())
    .execute()
}

/** Which attempt this is; nothing where the run is over. */
async function claim(db: Db<BusTables>, id: string): Promise<number | undefined> {
  const claimed = await db
    .updateTable('job_runs')
    .set({ state: 'running', started_at: new Date(), attempts: sql<number>`attempts + 1` })
    .where('id', '=', id)
    .where('state', 'in', ['queued', 'running'])
    .returning('attempts')
    .executeTakeFirst()
  return claimed?.attempts
}

/** A shutdown is no failed attempt. */
async function giveBack(db: Db<BusTables>, id: string, attempt: number) {
  await db
    .updateTable('job_runs')
    .set({ state: 'queued', attempts: attempt - 1 })
    .where('id', '=', id)
    .where('attempts', '=', attempt)
    .execute()
}

interface End {
  state: 'done' | 'failed'
  error: string | null
  result: string | null
}

/** Only the newest attempt may end a run. False where it was not this one. */
async function finish(db: Db<BusTables>, id: string, attempt: number, end: End) {
  const { numUpdatedRows } = await db
    .updateTable('job_runs')
    .set({ ...end, finished_at: new Date() })
    .where('id', '=', id)
    .where('attempts', '=', attempt)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

interface Failure {
  attempt: number
  error: Error
  log: Log
}

/** The error itself, or one of the same code whose message can be stored. */
function storableError(error: Error): Error {
  const message = storable(error.message, MOST_ERROR_CHARS)
  if (message === error.message) return error
  if (!(error instanceof AppError)) return new Error(message, { cause: error })
  return new AppError(error.kind, error.code, message, { cause: error })
}

/** Ends a run for good, whatever ended it: its owner, the dead letters and the error events are told. */
async function bury(
  db: Db<BusTables>,
  { job, failed }: JobHandler,
  run: Queued,
  { attempt, error: thrown, log }: Failure,
) {
  const error = storableError(thrown) // who is told of it stores it too
  await db.transaction().execute(async (trx) => {
    const end = { state: 'failed' as const, error: error.message, result: null }
    const ended = await finish(trx, run.id, attempt, end)
    if (ended) await failed?.(trx as never, { run_id: run.id, error })
    await enqueue(trx, deadLetter(job, run, error.message))
  })
  log.error({ err: thrown }, `Job ${job.name} failed for good`) // not before: a burial is tried again
}

function answerJobCalls(bus: Bus, db: Db<BusTables>, handlers: JobHandler[]) {
  const service = bus.peer as Service
  answer(bus, startJob(service), async ({ id, job: name, args }) => {
    const job = handlers.find((one) => one.job.name === name)?.job
    if (!job || ownerOfJob(job) !== service)
      throw new AppError('not_found', 'job.not_found', `${service} has no job ${name}`)
    argsOf(job, args)
    const actor = { source: 'cli', actor_kind: 'operator', actor_id: null } as const
    await db.transaction().execute(async (trx) => {
      if (await findRun(trx, id)) return
      await queueJob(trx, job, args, id)
      await enqueue(trx, audit(jobStarted(service), actor, undefined, { job: name, run_id: id }))
    })
    return (await findRun(db, id)) as JobRun
  })
  answer(bus, findJobRun(service), async ({ id }) => ({ run: await findRun(db, id) }))
}

async function findRun(db: Db<BusTables>, id: string): Promise<JobRun | null> {
  const row = await db.selectFrom('job_runs').selectAll().where('id', '=', id).executeTakeFirst()
  return row ? shownRun(row) : null
}

/** Finished runs are kept so long. */
const KEEP_RUNS_DAYS = 30

/** Deletes sent outbox rows and idempotency keys after a day, and finished runs after a month. */
export async function pruneBus<T extends BusTables>(database: Db<T>) {
  const db = database as unknown as Db<BusTables>
  await deleteOld(db, 'outbox', sql`sent_at < now() - interval '1 day'`)
  await deleteOld(db, 'idempotency_keys', sql`created_at < now() - interval '1 day'`)
  const runs = sql`finished_at < now() - make_interval(days => ${KEEP_RUNS_DAYS})`
  await deleteOld(db, 'job_runs', runs)
}
