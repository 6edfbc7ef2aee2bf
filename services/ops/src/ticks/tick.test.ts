import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { quietLog } from '@guildhall/bus/testing'
import { jobs } from '@guildhall/contracts/calls'
import { subjectOfJob } from '@guildhall/contracts/job'
import { pruneJobs } from '@guildhall/contracts/ops'
import { newId } from '@guildhall/service/id'
import { until } from '@guildhall/service/testing'
import { jobHandlers } from '../jobs.ts'
import { testOps } from '../testing.ts'
import { lastDue } from './rules.ts'
import { jobsBy, startDue } from './tick.ts'

const isPrune = (name: string) => name === 'ops.prune'

/** The times at which ops.prune was started, from 2031 on: the real clock of the service ticks too. */
async function prunes({ db }: Awaited<ReturnType<typeof testOps>>) {
  const rows = await db
    .selectFrom('ticks')
    .select('due_at')
    .where('job', '=', 'ops.prune')
    .where('due_at', '>', new Date('2031-01-01'))
    .orderBy('due_at')
    .execute()
  return rows.map(({ due_at }) => due_at.toISOString())
}

/** The ids of what was queued of ops.prune, and of its runs that are done, each sorted. */
async function queuedAndDone({ db }: Pick<Awaited<ReturnType<typeof testOps>>, 'db'>) {
  const subject = subjectOfJob(pruneJobs.ops)
  const queued = await db.selectFrom('outbox').select('id').where('subject', '=', subject).execute()
  const runs = db.selectFrom('job_runs').select('id').where('job', '=', 'ops.prune')
  const done = await runs.where('state', '=', 'done').where('attempts', '=', 1).execute()
  const sorted = (rows: { id: string }[]) => rows.map(({ id }) => id).sort()
  return { queued: sorted(queued), done: sorted(done), runs: sorted(await runs.execute()) }
}

test('of ten replicas that see the same tick one queues the run, and it runs once', async (t) => {
  const ops = await testOps(t, { now: () => new Date('2030-12-31T12:00:00Z') })
  const own = await until(async () => {
    const { queued } = await queuedAndDone(ops)
    return queued.length > 0 ? queued : undefined
  })
  assert.equal(own.length, 1, 'the service itself has queued the tick of the day before')
  const at = new Date('2031-01-01T03:17:00Z')
  const started = await Promise.all(Array.from({ length: 10 }, () => startDue(ops, at)))

  assert.deepEqual(started.flat().filter(isPrune), ['ops.prune'])
  const { queued } = await queuedAndDone(ops)
  assert.equal(queued.length - own.length, 1)
  await until(async () => (await queuedAndDone(ops)).done.length === queued.length)
  assert.deepEqual(await queuedAndDone(ops), { queued, done: queued, runs: queued })
})

test('a job starts at its time, not before, and once', async (t) => {
  const ops = await testOps(t)
  await startDue(ops, new Date('2031-01-02T03:16:59.999Z'))
  assert.deepEqual(await prunes(ops), ['2031-01-01T03:17:00.000Z'])
  const started = await startDue(ops, new Date('2031-01-02T03:17:00.000Z'))
  assert.ok(started.some(isPrune))
  assert.ok(!(await startDue(ops, new Date('2031-01-02T03:17:01Z'))).some(isPrune))
  assert.equal((await prunes(ops)).length, 2)
})

test('after an outage only the newest missed tick of each job runs', async (t) => {
  const ops = await testOps(t)
  await startDue(ops, new Date('2031-01-02T12:00:00Z'))
  await startDue(ops, new Date('2031-01-09T12:00:00Z'))
  assert.deepEqual(await prunes(ops), ['2031-01-02T03:17:00.000Z', '2031-01-09T03:17:00.000Z'])
})

test('every scheduled job has a tick, and one on request has none', async (t) => {
  const { db } = await testOps(t)
  const started = await startDue({ db, log: quietLog }, new Date('2031-01-01T12:00:00Z'))
  assert.deepEqual(
    started,
    jobs.filter(({ cron }) => cron).map(({ name }) => name),
  )
  const { cron: _, ...onRequest } = pruneJobs.ops
  assert.equal(lastDue(onRequest, new Date()), undefined)
})

test('calendars are synced by the cron text of the deployment, and without one only when asked', async (t) => {
  const { db } = await testOps(t)
  const at = new Date('2031-01-01T12:00:00Z')
  const named = (started: string[]) => started.includes('calendar.sync_all')
  assert.ok(!named(await startDue({ db, log: quietLog }, at, jobsBy({}))))
  const hourly = jobsBy({ CALENDAR_SYNC_CRON: '0 * * * *' })
  assert.ok(named(await startDue({ db, log: quietLog }, at, hourly)))
  assert.ok(!named(await startDue({ db, log: quietLog }, at, hourly)))
})

async function prune(t: TestContext) {
  const ops = await testOps(t)
  const handler = jobHandlers(ops as never).find(({ job }) => job === pruneJobs.ops)
  const context = { run_id: newId(), log: {} as never, signal: new AbortController().signal }
  return { ...ops, run: () => handler?.run({} as never, context) }
}
const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000)

test('pruning deletes what is too old and keeps the rest', async (t) => {
  const { db, run } = await prune(t)
  const ages = { audit: [364, 366], group: [89, 91], seen: [7.5, 8.5] }
  const line = {
    source: 'http',
    action: 'a',
    org_id: null,
    actor_kind: 'job',
    actor_id: null,
    status: null,
  } as const
  for (const days of ages.audit) {
    await db
      .insertInto('audit_entries')
      .values({ ...line, id: newId(), created_at: daysAgo(days), details: '{}' })
      .execute()
  }
  const group = {
    service: 'a',
    org_id: null,
    kind: 'k',
    message: 'm',
    location: null,
    route: null,
    stack: null,
  }
  for (const days of ages.group) {
    const seen = { first_seen: daysAgo(300), last_seen: daysAgo(days) }
    await db
      .insertInto('error_groups')
      .values({ ...group, ...seen, id: newId(), fingerprint: `${days}` })
      .execute()
  }
  for (const days of ages.seen) {
    await db
      .insertInto('error_events_seen')
      .values({ id: newId(), seen_at: daysAgo(days) })
      .execute()
  }
  await run()
  for (const table of ['audit_entries', 'error_groups', 'error_events_seen'] as const) {
    assert.equal((await db.selectFrom(table).select('id').execute()).length, 1, table)
  }
})

test('pruning keeps the newest tick of each job, however old', async (t) => {
  const { db, run } = await prune(t)
  const ticks = [
    ['yearly', 400],
    ['yearly', 35],
    ['often', 3],
    ['often', 1],
  ] as const
  for (const [job, days] of ticks) {
    await db
      .insertInto('ticks')
      .values({ job, due_at: daysAgo(days) })
      .execute()
  }
  await run()
  const left = await db
    .selectFrom('ticks')
    .selectAll()
    .where('job', 'in', ['yearly', 'often'])
    .orderBy('due_at')
    .execute()
  assert.deepEqual(
    left.map(({ job, due_at }) => [job, Math.round((Date.now() - due_at.getTime()) / 86_400_000)]),
    [
      ['yearly', 35],
      ['often', 1],
    ],
  )
})
