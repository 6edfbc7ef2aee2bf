import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { queueJob } from '@guildhall/bus/jobs'
import { busAs } from '@guildhall/bus/testing'
import { getCalendarSettings, listCalendarRuns, syncOrg } from '@guildhall/contracts/calendar'
import { findJobRun, startJob } from '@guildhall/contracts/ops'
import { notesPage } from '@guildhall/sandbox/notes/world'
import { newId } from '@guildhall/service/id'
import { until } from '@guildhall/service/testing'
import { at, atId, connect, officer, synced, type TestCalendar, testCalendar } from '../testing.ts'

const DAY_MS = 86_400_000
const ATTEMPTS = 5

/** A run that was started `days` ago. */
async function started({ db }: TestCalendar, org_id: number, days: number) {
  const id = newId()
  const started_at = new Date(Date.now() - days * DAY_MS)
  const none = { error: null, code: null, finished_at: null, lease_id: null }
  await db
    .insertInto('runs')
    .values({ id, org_id, force: false, started_at, ...none })
    .execute()
  return id
}
const jobOf = (org_id: number, id: string, attempts: number) => ({
  ...{ id, job: syncOrg.name, args: JSON.stringify({ org_id, force: false }) },
  ...{ state: 'running' as const, attempts },
  ...{ started_at: new Date(), finished_at: null, error: null, result: null },
})
async function runs(club: TestCalendar, org = 1) {
  const reply = await club.as(officer(org)).call(listCalendarRuns, { ...at(org), query: {} })
  assert.ok(reply.status === 200)
  return reply.body.runs.map(({ status, code }) => [status, code])
}
async function operate(
  t: Parameters<typeof busAs>[0],
  { settings }: Pick<TestCalendar, 'settings'>,
  job: string,
) {
  const operator = await busAs(t, { url: settings.NATS_URL, peer: 'operator' })
  const id = newId()
  await ask(operator, startJob('calendar'), { id, job, args: {} })
  return until(async () => {
    const { run } = await ask(operator, findJobRun('calendar'), { id })
    return run?.finished_at ? run : undefined
  })
}

test('a run whose job died for good has failed at once', async (t) => {
  const club = await testCalendar(t)
  await connect(club)
  const id = await started(club, 1, 0)
  await club.db.transaction().execute(async (trx) => {
    await trx
      .insertInto('job_runs')
      .values(jobOf(1, id, ATTEMPTS))
      .execute()
    await queueJob(trx, syncOrg, { org_id: 1 }, id)
  })
  await until(async () => (await runs(club))[0]?.[0] === 'failed')
  assert.deepEqual(await runs(club), [['failed', 'calendar.interrupted']])
})

test('a run whose job is forgotten keeps no sync from running, and the pruning ends it', async (t) => {
  const club = await testCalendar(t)
  await connect(club)
  await started(club, 1, 40)
  assert.equal((await synced(club, true)).status, 'success')
  await started(club, 1, 40)
  const working = await started(club, 2, 0)
  await club.db
    .insertInto('job_runs')
    .values(jobOf(2, working, 1))
    .execute()
  await operate(t, club, 'calendar.prune')
  const lost = ['failed', 'calendar.interrupted']
  assert.deepEqual(await runs(club), [lost, ['success', null], lost])
  assert.deepEqual(await runs(club, 2), [['started', null]])
})

test('a sync that auth cannot serve for a while is tried again, and one org keeps no other from its own', async (t) => {
  const club = await testCalendar(t)
  for (const org of [1, 2]) await connect(club, {}, org)
  club.auth.broken.orgs.add(1)
  club.auth.broken.secrets.add(2)
  const scheduled = await operate(t, club, 'calendar.sync_all')
  assert.deepEqual([scheduled.state, scheduled.result], ['done', { started: 1 }])
  const attempted = club.db.selectFrom('job_runs').selectAll().where('job', '=', syncOrg.name)
  await until(async () => (await attempted.executeTakeFirst())?.attempts === 1)
  assert.deepEqual(await runs(club, 2), [['started', null]])
  club.auth.broken.secrets.clear()
  await until(async () => (await runs(club, 2))[0]?.[0] === 'success')
})

test('only a sync that succeeded counts as the last, and what it read is shown at once', async (t) => {
  const club = await testCalendar(t)
  await connect(club)
  const last = async () => {
    const { body } = await club.as(officer()).call(getCalendarSettings, atId())
    return 'last_sync_at' in body ? body.last_sync_at : assert.fail()
  }
  club.world.keys.notes = 'another'
  assert.equal((await synced(club)).code, 'notes.key_refused')
  assert.equal(await last(), null)
  club.world.keys.notes = club.keys.notes_api_key
  // its title would end in half a character, which Postgres does not take
  club.database.pages.push(notesPage({ Name: `${'x'.repeat(999)}🎲`, Date: null }))
  const { status, skipped } = await synced(club)
  assert.deepEqual([status, skipped[0]?.title], ['success', 'x'.repeat(999)])
  assert.ok(await last())
})
