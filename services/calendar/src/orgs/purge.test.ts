import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import { findCalendarSettings, listEvents, syncAllCalendars } from '@guildhall/contracts/calendar'
import { findJobRun, startJob } from '@guildhall/contracts/ops'
import { purgeOrgOf } from '@guildhall/contracts/orgs'
import { callOf } from '@guildhall/contracts/tool'
import { tools } from '@guildhall/contracts/tools'
import { notesPage } from '@guildhall/sandbox/notes/world'
import { newId } from '@guildhall/service/id'
import { until } from '@guildhall/service/testing'
import { anyone, at, connect, platform, synced, testCalendar } from '../testing.ts'

test('a purge deletes all of one org and nothing of another, and may be repeated', async (t) => {
  const club = await testCalendar(t)
  for (const org of [1, 2]) {
    await connect(club, {}, org)
    await synced(club, false, org)
  }
  const { bus } = club.auth
  for (let n = 0; n < 2; n++) await ask(bus, purgeOrgOf('calendar'), { org_id: 1 })
  for (const table of ['settings', 'runs'] as const) {
    const rows = await club.db.selectFrom(table).select('org_id').execute()
    assert.ok(rows.length > 0 && rows.every(({ org_id }) => org_id === 2), table)
  }
  const { settings } = await ask(bus, findCalendarSettings, { org_id: 1 })
  assert.equal(settings, null)
})

test('the schedule syncs the orgs that want it, an officer all of theirs', async (t) => {
  const club = await testCalendar(t)
  await connect(club)
  await connect(club, { calendar_sync_enabled: false }, 2)
  const operator = await busAs(t, { url: club.settings.NATS_URL, peer: 'operator' })
  const id = newId()
  await ask(operator, startJob('calendar'), { id, job: 'calendar.sync_all', args: {} })
  const { run } = await until(async () => {
    const found = await ask(operator, findJobRun('calendar'), { id })
    return found.run?.finished_at ? found : undefined
  })
  assert.deepEqual([run?.state, run?.result], ['done', { started: 1 }])
  const all = await club.as(platform()).call(syncAllCalendars, {})
  assert.ok(all.status === 202)
  assert.deepEqual(
    all.body.runs.map(({ org }) => org),
    ['org1', 'org2'],
  )
})

test('an agent reads with its tool what everybody sees, and starts a sync with its scope', async (t) => {
  const club = await testCalendar(t)
  await connect(club)
  const start = new Date(Date.now() + 3_600_000).toISOString()
  club.database.pages.push(notesPage({ Name: 'Meeting', Date: { start } }))
  const mcp = await busAs(t, { url: club.settings.NATS_URL, peer: 'mcp' })
  const { org } = anyone() as { org: never }
  async function use(name: string, scopes: string[]) {
    const tool = tools.find((one) => one.name === name) ?? assert.fail(name)
    const caller = { token_id: newId(), token_kind: 'agent' as const, name: 'helper', scopes }
    return (await ask(mcp, callOf(tool), { caller, org, input: {}, preview: false })).answer
  }
  const seen = await club.as(anyone()).call(listEvents, { ...at(), query: {} })
  assert.ok(seen.status === 200 && seen.body.total_events === 1)
  assert.deepEqual(await use('events.list', ['calendar:read']), seen.body)
  await assert.rejects(use('calendar.sync', ['calendar:read']), { kind: 'forbidden' })
  const started = (await use('calendar.sync', ['calendar:manage'])) as { status: string }
  assert.equal(started.status, 'started')
  await until(() => club.calendar.events.size === 1)
})
