import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { answer } from '@guildhall/bus/calls'
import {
  jobServices,
  listJobRuns,
  listJobs,
  retryJob,
  retryJobRun,
} from '@guildhall/contracts/job-runs'
import type { JobRun } from '@guildhall/contracts/ops'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import { officerOf, opsWith, params } from '../testing-services.ts'

const runOf = (n: number, job: string, state: JobRun['state'] = 'done'): JobRun => ({
  ...{ id: newId(Date.UTC(2031, 0, n)), job, state, attempts: 1, error: null, result: null },
  queued_at: new Date(Date.UTC(2031, 0, n)).toISOString(),
  started_at: null,
  finished_at: null,
})

/** ops, and services that have these runs of org 1. */
async function setUp(t: TestContext, runs: Partial<Record<'store' | 'alerts', JobRun[]>>) {
  const ops = await opsWith(t, ...jobServices)
  for (const one of ['store', 'alerts'] as const)
    answer(ops.bus(one), listJobRuns(one), async ({ org_id, before, limit, state }) => ({
      runs: (org_id === 1 ? (runs[one] ?? []) : [])
        .filter(({ id }) => before === undefined || id < before)
        .filter((run) => state === undefined || run.state === state)
        .toSorted((a, b) => (a.id < b.id ? 1 : -1))
        .slice(0, limit),
    }))
  await ops.heard()
  type Query = { limit?: string; cursor?: string; state?: JobRun['state'] }
  const list = async (query: Query = {}, org = 1) => {
    const reply = await ops.as(officerOf(org)).call(listJobs, { params, query })
    assert.ok(reply.status === 200, JSON.stringify(reply.body))
    return reply.body
  }
  const retry = async (id: string) => {
    const reply = await ops.officer.call(retryJob, { params: { ...params, id } })
    return [reply.status, 'code' in reply.body ? reply.body.code : reply.body.job.state]
  }
  return { ...ops, list, retry }
}

test('the jobs of every service are one list, the newest first, and pages go through it once', async (t) => {
  const store = [1, 3, 5].map((n) => runOf(n, 'points.import_event_csv'))
  const alerts = [2, 4].map((n) => runOf(n, 'alerts.run_feed', 'failed'))
  const { list } = await setUp(t, { store, alerts })
  const days = ({ jobs }: { jobs: JobRun[] }) =>
    jobs.map(({ queued_at }) => new Date(queued_at).getUTCDate())
  assert.deepEqual(days(await list()), [5, 4, 3, 2, 1])
  assert.deepEqual((await list()).unavailable, ['knowledge', 'agents', 'calendar'])
  assert.deepEqual(days(await list({ state: 'failed' })), [4, 2])
  assert.deepEqual(days(await list({}, 2)), [])
  const first = await list({ limit: '2' })
  const second = await list({ limit: '2', cursor: String(first.next_cursor) })
  const third = await list({ limit: '2', cursor: String(second.next_cursor) })
  assert.deepEqual([first, second, third].map(days), [[5, 4], [3, 2], [1]])
  assert.equal(third.next_cursor, null)
})

test('a cursor counts for its own org and state, and one with a made-up key for none', async (t) => {
  const { list, officer } = await setUp(t, { store: [1, 2].map((n) => runOf(n, 'x.y')) })
  const cursor = String((await list({ limit: '1' })).next_cursor)
  const [, marker] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as string[]
  const madeUp = Buffer.from(JSON.stringify(['no id', marker])).toString('base64url')
  await assert.rejects(list({ limit: '1', cursor }, 2), /cursor\.invalid/)
  await assert.rejects(list({ limit: '1', cursor, state: 'done' }), /cursor\.invalid/)
  const reply = await officer.call(listJobs, { params, query: { cursor: madeUp } })
  assert.deepEqual([reply.status, 'code' in reply.body && reply.body.code], [400, 'cursor.invalid'])
})

test('a failed job is run again by the service that has it; what none has, has not failed or may be away is told', async (t) => {
  const { bus, heard, retry } = await setUp(t, {})
  const [failed, done, none] = [runOf(1, 'alerts.run_feed', 'failed'), newId(), newId()]
  for (const one of jobServices)
    answer(bus(one), retryJobRun(one), async ({ id, org_id }) => {
      assert.equal(org_id, 1)
      if (one !== 'alerts') return { run: null }
      if (id === done) throw new AppError('conflict', 'job.not_failed', 'This one is done')
      return { run: id === failed.id ? { ...failed, state: 'queued' as const } : null }
    })
  await heard()
  assert.deepEqual(await retry(failed.id), [202, 'queued'])
  assert.deepEqual(await retry(done), [409, 'job.not_failed'])
  assert.deepEqual(await retry(none), [404, 'job.not_found'])
  await bus('store').nats.close()
  assert.deepEqual(await retry(failed.id), [202, 'queued'])
  assert.deepEqual(await retry(done), [409, 'job.not_failed'])
  assert.equal((await retry(none))[0], 503)
})
