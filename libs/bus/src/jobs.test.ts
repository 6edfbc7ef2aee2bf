import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Job } from '@guildhall/contracts/job'
import { findJobRun, pruneJobs, startJob } from '@guildhall/contracts/ops'
import type { Db } from '@guildhall/db/open'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import { createLog } from '@guildhall/service/log'
import { cleanUp, until } from '@guildhall/service/testing'
import { z } from 'zod'
import { ask } from './calls.ts'
import { type FailedRun, handles, type JobHandler, queueJob, runJobs } from './jobs.ts'
import { relay } from './relay.ts'
import { ensureStreams } from './streams.ts'
import type { BusTables } from './tables.ts'
import { busAs, testBroker, testOutbox } from './testing.ts'

/** A job under a name that ops may run, with arguments of the test's own. */
const job = {
  ...pruneJobs.ops,
  attempts: 2,
  args: z.object({ n: z.int().default(0) }),
} satisfies Job

async function setUp(t: TestContext) {
  const [nats, db] = await Promise.all([testBroker(t), testOutbox(t)])
  const lines: { level: string; err?: { message: string } }[] = []
  const to = { write: (line: string) => void lines.push(JSON.parse(line)) }
  const log = createLog('ops', { format: 'json', to })
  const bus = await busAs(t, { url: nats.url, peer: 'ops', log })
  await ensureStreams(bus.jsm)
  /** Runs a job until the test ends or `stop` is called, which waits for the work in hand. */
  const work = (run: JobHandler) => {
    const ending = new AbortController()
    const running = [runJobs(bus, db, [run], ending.signal), relay(bus, db, ending.signal)]
    const stop = async () => {
      ending.abort()
      await Promise.all(running)
    }
    cleanUp(t, stop)
    return stop
  }
  const queue = (args: { n?: number } = {}, id?: string) =>
    db.transaction().execute((trx) => queueJob(trx, job, args, id))
  const runOf = (id: string) =>
    db.selectFrom('job_runs').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  const ended = (id: string, ms?: number) =>
    until(async () => {
      const run = await runOf(id)
      return ['done', 'failed'].includes(run.state) && run
    }, ms)
  const messages = async (stream: string) => (await bus.jsm.streams.info(stream)).state.messages
  return { nats, db, bus, lines, work, queue, runOf, ended, messages }
}

test('a job is seen as queued at once, runs with its arguments, and keeps its result', async (t) => {
  const { work, queue, runOf, ended, messages } = await setUp(t)
  const id = await queue({ n: 7 })
  assert.equal((await runOf(id)).state, 'queued')
  const ran: unknown[] = []
  work(
    handles(job, async (args, { run_id }) => {
      ran.push(args, run_id)
      return { counted: 3 }
    }),
  )
  const run = await ended(id)
  assert.deepEqual(
    [run.state, run.attempts, run.error, run.result],
    ['done', 1, null, { counted: 3 }],
  )
  assert.deepEqual(ran, [{ n: 7 }, id])
  await until(async () => (await messages('JOBS')) === 0)
})

test('a job that fails is tried again after a while and can still succeed', async (t) => {
  const { work, queue, ended, messages } = await setUp(t)
  const tries: number[] = []
  work(
    handles(job, async () => {
      tries.push(Date.now())
      if (tries.length === 1) throw new Error('the database was away')
    }),
  )
  const run = await ended(await queue())
  assert.deepEqual([run.state, run.attempts], ['done', 2])
  assert.ok(Number(tries[1]) - Number(tries[0]) > 800, 'it waited before the second attempt')
  assert.equal(await messages('DEAD'), 0)
})

test('a job whose attempts are used up is failed, a dead letter and an error line', async (t) => {
  const { work, queue, ended, messages, lines } = await setUp(t)
  let tries = 0
  work(
    handles(job, async () => {
      tries += 1
      throw new AppError('upstream', 'calendar.failed', 'The calendar does not answer')
    }),
  )
  const run = await ended(await queue())
  assert.deepEqual(
    [run.state, run.attempts, run.error, tries],
    ['failed', 2, 'The calendar does not answer', 2],
  )
  await until(async () => (await messages('DEAD')) === 1 && (await messages('JOBS')) === 0)
  assert.equal(lines.filter(({ level }) => level === 'ERROR').length, 1)
})

test('who asked is told of a run that failed for good, in the transaction that ends it', async (t) => {
  const { work, queue, runOf, ended, db, messages, lines } = await setUp(t)
  const told: string[] = []
  const tell = async (trx: Db<BusTables>, { run_id, error }: FailedRun) => {
    const during = await trx
      .selectFrom('job_runs')
      .select('state')
      .where('id', '=', run_id)
      .execute()
    told.push(`${during[0]?.state} ${error.message}`)
    if (told.length === 1) throw new Error('not yet')
  }
  const id = await queue()
  // as a process leaves it that ended each time while it ran
  await db.updateTable('job_runs').set({ attempts: job.attempts }).where('id', '=', id).execute()
  work(handles({ ...job, once: 'It is told' }, async () => told.push('ran'), tell))
  assert.equal((await ended(id)).state, 'failed')
  const why = 'The process ended while ops.prune ran'
  assert.equal((await runOf(id)).error, why)
  assert.deepEqual(told, Array(2).fill(`failed ${why}`))
  await until(async () => (await messages('DEAD')) === 1 && (await messages('JOBS')) === 0)
  const errors = lines.filter(({ level }) => level === 'ERROR').map(({ err }) => err?.message)
  assert.deepEqual(errors, [why])
})

test('a refusal is not tried again', async (t) => {
  const { work, queue, ended } = await setUp(t)
  let tries = 0
  work(
    handles(job, async () => {
      tries += 1
      throw new AppError('not_found', 'org.not_found', 'There is no such org')
    }),
  )
  const run = await ended(await queue())
  assert.deepEqual([run.state, run.attempts, tries], ['failed', 1, 1])
})

test('arguments that no longer fit are a refusal', async (t) => {
  const { work, queue, ended, db } = await setUp(t)
  const id = await queue()
  await db
    .updateTable('outbox')
    .set({ payload: JSON.stringify({ id, args: { n: 'x' } }) })
    .execute()
  let ran = false
  work(
    handles(job, async () => {
      ran = true
    }),
  )
  const run = await ended(id)
  assert.deepEqual([run.state, run.attempts, ran], ['failed', 1, false])
  assert.match(String(run.error), /ops\.prune: \/n: /)
})

test('what is no job at all is dropped, and the next one runs', async (t) => {
  const { bus, work, queue, ended, messages } = await setUp(t)
  await bus.js.publish('jobs.ops.prune', 'no json')
  work(handles(job, async () => {}))
  assert.equal((await ended(await queue())).state, 'done')
  await until(async () => (await messages('JOBS')) === 0)
})

test('the same run delivered twice runs once', async (t) => {
  const { bus, work, queue, ended, messages } = await setUp(t)
  let runs = 0
  work(
    handles(job, async () => {
      runs += 1
    }),
  )
  const id = await queue()
  await ended(id)
  await bus.js.publish('jobs.ops.prune', JSON.stringify({ id, args: {} }))
  await until(async () => (await messages('JOBS')) === 0)
  assert.deepEqual([runs, (await ended(id)).attempts], [1, 1])
})

test('no more run at once than the job allows', async (t) => {
  const { work, queue, ended } = await setUp(t)
  let now = 0
  let most = 0
  work(
    handles({ ...job, concurrency: 3 }, async () => {
      now += 1
      most = Math.max(most, now)
      await until(() => most === 3)
      now -= 1
    }),
  )
  const ids = await Promise.all(Array.from({ length: 12 }, () => queue()))
  await Promise.all(ids.map((id) => ended(id)))
  assert.equal(most, 3)
})

test('a stop waits for the job in hand', async (t) => {
  const { work, queue, runOf } = await setUp(t)
  const started = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  const stop = work(
    handles(job, async () => {
      started.resolve()
      await go.promise
      return 'whole'
    }),
  )
  const id = await queue()
  await started.promise
  const stopped = stop()
  go.resolve()
  await stopped
  const run = await runOf(id)
  assert.deepEqual([run.state, run.result], ['done', 'whole'])
})

test('a job that gives up because of a stop comes again, whatever its attempts', async (t) => {
  const { work, queue, runOf, ended } = await setUp(t)
  const started = Promise.withResolvers<void>()
  const once = { ...job, attempts: 1 }
  const stop = work(
    handles(once, (_, { signal }) => {
      started.resolve()
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('stopping')))
      })
    }),
  )
  const id = await queue()
  await started.promise
  await stop()
  assert.equal((await runOf(id)).state, 'queued')

  work(handles(once, async () => 'second'))
  const run = await ended(id)
  assert.deepEqual([run.state, run.result], ['done', 'second'])
})

test('jobs go on after NATS was killed', async (t) => {
  const { nats, work, queue, ended } = await setUp(t)
  work(handles(job, async () => {}))
  await ended(await queue())
  const killed = Number(nats.pid())
  process.kill(killed, 'SIGKILL')
  const id = await queue()
  assert.equal((await ended(id, 30_000)).state, 'done')
})

test('the operator starts a job once under its id, sees how it stands, and is audited', async (t) => {
  const { nats, db, work, messages } = await setUp(t)
  const operator = await busAs(t, { url: nats.url, peer: 'operator' })
  let runs = 0
  work(
    handles(job, async () => {
      runs += 1
    }),
  )
  const id = newId()
  const start = () => ask(operator, startJob('ops'), { id, job: 'ops.prune', args: { n: 2 } })
  await until(start)
  await start()
  const find = async () => (await ask(operator, findJobRun('ops'), { id })).run
  await until(async () => (await find())?.state === 'done')
  assert.equal(runs, 1)
  await until(async () => (await messages('AUDIT')) === 1)
  const rows = await db
    .selectFrom('outbox')
    .select('payload')
    .where('stream', '=', 'AUDIT')
    .execute()
  const { action, source, details } = { ...rows[0]?.payload } as Record<string, unknown>
  assert.deepEqual(
    [action, source, details],
    ['ops.job.started', 'cli', { job: 'ops.prune', run_id: id }],
  )
  assert.equal((await ask(operator, findJobRun('ops'), { id: newId() })).run, null)
})

test('the operator is told of a job or arguments that do not exist', async (t) => {
  const { nats, work } = await setUp(t)
  const operator = await busAs(t, { url: nats.url, peer: 'operator' })
  work(handles(job, async () => {}))
  await until(() => ask(operator, findJobRun('ops'), { id: newId() }))
  const refusal = (name: string, args: object) =>
    ask(operator, startJob('ops'), { id: newId(), job: name, args: { ...args } }).then(
      () => 'accepted',
      (error: AppError) => error.code,
    )
  assert.equal(await refusal('ops.nothing', {}), 'job.not_found')
  assert.equal(await refusal('auth.prune', {}), 'job.not_found')
  assert.equal(await refusal('ops.prune', { n: 'x' }), 'job.invalid')
})
