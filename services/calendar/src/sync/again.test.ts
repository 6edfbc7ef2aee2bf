import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { queueJob } from '@guildhall/bus/jobs'
import { busAs } from '@guildhall/bus/testing'
import {
  getCalendarSettings,
  listCalendarRuns,
  syncCalendar,
  syncOrg,
} from '@guildhall/contracts/calendar'
import { retryJobRun } from '@guildhall/contracts/job-runs'
import { newId } from '@guildhall/service/id'
import { until } from '@guildhall/service/testing'
import { at, atId, connect, OFFICER, officer, type TestCalendar, testCalendar } from '../testing.ts'

const BY = { source: 'http', actor_kind: 'officer', actor_id: OFFICER } as const
const ATTEMPTS = syncOrg.attempts
const none = { error: null, finished_at: null }

async function setUp(t: TestContext) {
  const club = await testCalendar(t)
  await connect(club)
  const ops = await busAs(t, { url: club.settings.NATS_URL, peer: 'ops' })
  const again = async (id: string) => {
    const { run } = await ask(ops, retryJobRun('calendar'), { org_id: 1, id, by: BY })
    assert.equal(run?.state, 'queued')
  }
  const job = (id: string) =>
    club.db.selectFrom('job_runs').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  const ended = (id: string, state: string) => until(async () => (await job(id)).state === state)
  return { ...club, again, job, ended }
}

/** A sync whose process ended at each attempt. */
async function failedJob(club: Awaited<ReturnType<typeof setUp>>) {
  const id = await startedRun(club, ATTEMPTS)
  await club.db
    .transaction()
    .execute((trx) => queueJob(trx, syncOrg, { org_id: 1, force: false }, id))
  await club.ended(id, 'failed')
  return id
}

/** A run under way, as a process leaves it; with no job where there were no `attempts`. */
async function startedRun({ db }: TestCalendar, attempts: number) {
  const id = newId()
  const run = { id, org_id: 1, force: false, started_at: new Date() }
  await db
    .insertInto('runs')
    .values({ ...run, ...none, code: null, lease_id: null })
    .execute()
  if (attempts === 0) return id
  const args = JSON.stringify({ org_id: 1, force: false })
  const job = { id, job: syncOrg.name, args, state: 'running' as const, attempts }
  await db
    .insertInto('job_runs')
    .values({ ...job, ...none, org_id: 1, started_at: new Date(), result: null })
    .execute()
  return id
}

async function statuses(club: TestCalendar) {
  const reply = await club.as(officer()).call(listCalendarRuns, { ...at(), query: {} })
  assert.ok(reply.status === 200)
  return reply.body.runs.map(({ status, code }) => [status, code])
}

test('a sync that failed for good and is run again syncs', async (t) => {
  const club = await setUp(t)
  const id = await failedJob(club)
  assert.deepEqual(await statuses(club), [['failed', 'calendar.interrupted']])
  await club.again(id)
  await club.ended(id, 'done')
  assert.deepEqual(await statuses(club), [['success', null]])
  const { body } = await club.as(officer()).call(getCalendarSettings, atId())
  assert.ok('last_sync_at' in body && body.last_sync_at)
})

test('it is refused while another sync is under way, stays failed, and can be run again later', async (t) => {
  const club = await setUp(t)
  const id = await failedJob(club)
  const other = await startedRun(club, 1)
  await assert.rejects(club.again(id), { kind: 'conflict', code: 'calendar.syncing' })
  assert.equal((await club.job(id)).state, 'failed')
  // the other one has no job from here on, so that it stands in nobody's way
  await club.db.deleteFrom('job_runs').where('id', '=', other).execute()
  await club.again(id)
  await club.ended(id, 'done')
  assert.deepEqual(await statuses(club), [
    ['failed', 'calendar.interrupted'],
    ['success', null],
  ])
})

test('of ten who run two failed syncs again, and ten who start one, all at once, one is under way', async (t) => {
  const club = await setUp(t)
  const failed = [await failedJob(club), await failedJob(club)]
  club.auth.broken.orgs.add(1) // no sync gets to its end
  const start = () => club.as(officer()).call(syncCalendar, { ...at(), query: {} })
  const ten = Array.from({ length: 10 }, (_, n) => n)
  const [retries, starts] = await Promise.all([
    Promise.allSettled(ten.map((n) => club.again(failed[n % 2] ?? assert.fail()))),
    Promise.all(ten.map(start)),
  ])
  const won = retries.filter(({ status }) => status === 'fulfilled').length
  for (const one of retries)
    if (one.status === 'rejected')
      assert.match(one.reason.code, /^(calendar\.syncing|job\.not_failed)$/)
  assert.deepEqual(new Set(starts.map(({ status }) => status)), new Set([202]))
  const ids = new Set(starts.map(({ body }) => 'run_id' in body && body.run_id))
  assert.equal(ids.size, 1)
  assert.equal([...ids].filter((id) => failed.includes(String(id))).length, won)
  const shown = await statuses(club)
  assert.equal(shown.filter(([status]) => status === 'started').length, 1)
})
