import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Job } from '@guildhall/contracts/job'
import { listJobRuns, retryJobRun, tellJobDays } from '@guildhall/contracts/job-runs'
import { pruneJobs } from '@guildhall/contracts/ops'
import type { Trx } from '@guildhall/db/open'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import { cleanUp, until } from '@guildhall/service/testing'
import { z } from 'zod'
import { ask } from './calls.ts'
import { handles, queueJob, type RetriedRun, runJobs } from './jobs.ts'
import { relay } from './relay.ts'
import { ensureStreams } from './streams.ts'
import type { BusTables } from './tables.ts'
import { busAs, quietLog, testBroker, testOutbox } from './testing.ts'

const job = {
  ...pruneJobs.alerts,
  args: z.object({ org_id: z.int().optional() }),
} satisfies Job
const BY = { source: 'http', actor_kind: 'officer', actor_id: '12345' } as const

/** A service whose job is refused as long as `state.broken`. */
async function setUp(
  t: TestContext,
  more: Partial<Job> = {},
  retried?: (trx: Trx<BusTables>, run: RetriedRun) => Promise<unknown>,
) {
  const [{ url }, db] = await Promise.all([testBroker(t), testOutbox(t)])
  const ops = await busAs(t, { url, peer: 'ops' })
  await ensureStreams(ops.jsm)
  const bus = await busAs(t, { url, peer: 'alerts', log: quietLog })
  const state = { broken: true, ran: 0 }
  async function run() {
    state.ran += 1
    if (state.broken) throw new AppError('invalid', 'feed.broken', 'It is broken')
  }
  const handler = handles({ ...job, ...more }, run, undefined, retried)
  const ending = new AbortController()
  const running = [runJobs(bus, db, [handler], ending.signal), relay(bus, db, ending.signal)]
  cleanUp(t, async () => {
    ending.abort()
    await Promise.all(running)
  })
  await bus.nats.flush()
  const queue = (args: { org_id?: number }) =>
    db.transaction().execute((trx) => queueJob(trx, job, args))
  const list = async (more: object = {}) =>
    (await ask(ops, listJobRuns('alerts'), { org_id: 1, limit: 100, ...more })).runs
  const inState = (id: string, wanted: string) =>
    until(async () => (await list()).some((run) => run.id === id && run.state === wanted))
  const retry = async (id: string, org_id = 1) =>
    (await ask(ops, retryJobRun('alerts'), { org_id, id, by: BY })).run
  return { ops, db, state, queue, list, inState, retry }
}

test('an org sees the runs of jobs that name it, the newest first, and no other', async (t) => {
  const { ops, db, queue, list, inState } = await setUp(t)
  const [first, , , second] = [
    await queue({ org_id: 1 }),
    await queue({ org_id: 2 }),
    await queue({}),
    await queue({ org_id: 1 }),
  ]
  for (const id of [first, second]) await inState(id, 'failed')
  const ids = async (more?: object) => (await list(more)).map(({ id }) => id)
  assert.deepEqual(await ids(), [second, first])
  assert.deepEqual(await ids({ limit: 1 }), [second])
  assert.deepEqual(await ids({ before: second }), [first])
  assert.deepEqual(await ids({ state: 'done' }), [])
  const since = `${new Date().toISOString().slice(0, 10)}T00:00:00Z`
  const { days } = await ask(ops, tellJobDays('alerts'), { org_id: 1, since })
  assert.deepEqual([days[0]?.value, days[0]?.failed], [2, 2])
  for (const [id, at] of [
    [first, new Date(since)],
    [second, new Date(Date.parse(since) - 1)],
  ] as const)
    await db
      .updateTable('job_runs')
      .set({ queued_at: at, state: 'done' })
      .where('id', '=', id)
      .execute()
  const cut = await ask(ops, tellJobDays('alerts'), { org_id: 1, since })
  assert.deepEqual(cut.days, [{ date: since.slice(0, 10), value: 1, failed: 0 }])
})

test('of ten officers who run a failed job again at once one does, and it runs once more', async (t) => {
  const { db, state, queue, inState, retry } = await setUp(t)
  const id = await queue({ org_id: 1 })
  await inState(id, 'failed')
  state.broken = false
  const asked = await Promise.allSettled(Array.from({ length: 10 }, () => retry(id)))
  const [opened, ...more] = asked.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
  assert.equal(more.length, 0)
  const blank = { started_at: null, finished_at: null, error: null, result: null }
  assert.deepEqual(opened, { ...opened, id, state: 'queued', attempts: 0, ...blank })
  for (const one of asked)
    if (one.status === 'rejected') assert.equal(one.reason.code, 'job.not_failed')
  await inState(id, 'done')
  assert.equal(state.ran, 2)
  const lines = await db
    .selectFrom('outbox')
    .select('payload')
    .where('stream', '=', 'AUDIT')
    .execute()
  assert.deepEqual(
    lines.map(({ payload }) => {
      const { action, actor_id, org_id } = payload as Record<string, unknown>
      return [action, actor_id, org_id]
    }),
    [['alerts.job.retried', '12345', 1]],
  )
})

test("another org's run and an unknown one are none", async (t) => {
  const { queue, inState, retry, state } = await setUp(t)
  const id = await queue({ org_id: 1 })
  await inState(id, 'failed')
  assert.equal(await retry(id, 2), null)
  assert.equal(await retry(newId()), null)
  assert.equal(state.ran, 1)
})

test('a job whose failure used up what it worked on is not run again, and says why', async (t) => {
  const { queue, inState, retry, state } = await setUp(t, { once: 'The file is deleted' })
  const id = await queue({ org_id: 1 })
  await inState(id, 'failed')
  await assert.rejects(retry(id), { code: 'job.once', message: /The file is deleted/ })
  assert.equal(state.ran, 1)
})

test('a handler is told in the transaction that opens a run again, and may refuse that', async (t) => {
  const told: string[] = []
  const tell = async (trx: Trx<BusTables>, { run_id }: RetriedRun) => {
    const { state } = await trx
      .selectFrom('job_runs')
      .select('state')
      .where('id', '=', run_id)
      .executeTakeFirstOrThrow()
    told.push(`${run_id} ${state}`)
    if (told.length === 1) throw new AppError('conflict', 'feed.busy', 'Try again later')
  }
  const { queue, inState, retry, state } = await setUp(t, {}, tell)
  const id = await queue({ org_id: 1 })
  await inState(id, 'failed')
  state.broken = false
  await assert.rejects(retry(id), { code: 'feed.busy' })
  await inState(id, 'failed')
  await retry(id)
  await inState(id, 'done')
  assert.deepEqual(told, Array(2).fill(`${id} queued`))
  assert.equal(state.ran, 2)
})

test('a handler that hears of failed runs hears of those run again too, unless its job runs once', () => {
  const run = async () => {}
  assert.throws(() => handles(job, run, run), /needs retried/)
  handles(job, run, run, run)
  handles({ ...job, once: 'The file is deleted' }, run, run)
  handles(job, run)
})

test('a page of five hundred runs with long errors and results fits into one answer', async (t) => {
  const { db, list } = await setUp(t)
  const times = { queued_at: new Date(), started_at: null, finished_at: null }
  const long = { error: 'ä'.repeat(20_000), result: JSON.stringify({ text: 'x'.repeat(20_000) }) }
  const run = { job: job.name, state: 'failed' as const, attempts: 1, org_id: 1, ...times, ...long }
  const rows = Array.from({ length: 500 }, () => ({ ...run, id: newId(), args: '{}' }))
  await db.insertInto('job_runs').values(rows).execute()
  const page = await list({ limit: 500 })
  assert.equal(page.length, 500)
  assert.match(page[0]?.error ?? '', /^ä{200,}$/)
  assert.equal(page[0]?.result, null)
  const [alone] = await list({ limit: 1 })
  assert.equal(alone?.error?.length, 20_000)
  assert.deepEqual(alone?.result, { text: 'x'.repeat(20_000) })
})
