import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  getCalendarSettings,
  putCalendarSettings,
  syncCalendar,
} from '@guildhall/contracts/calendar'
import { notesPage } from '@guildhall/sandbox/notes/world'
import { keepMade, settingsOf } from '../settings/queries.ts'
import { at, atId, connect, GOOGLE_ID, officer, synced, testCalendar } from '../testing.ts'

const page = () => notesPage({ Name: 'Meeting', Date: { start: '2026-12-01' } })

test('the first sync makes a calendar, and one that a lost answer has left is found again', async (t) => {
  const club = await testCalendar(t)
  await connect(club, { google_calendar_id: null })
  club.database.pages.push(page())
  club.world.faults.calendar = 'fails_after_create'
  assert.equal((await synced(club)).code, 'google_calendar.unreachable')
  club.world.faults.calendar = undefined
  assert.deepEqual((await synced(club)).counts, [1, 0, 0, 0])
  const made = club.world.calendar.calendars.filter(({ id }) => id !== GOOGLE_ID)
  assert.deepEqual(
    made.map(({ summary, timeZone }) => [summary, timeZone]),
    [['Org 1 Events', 'America/New_York']],
  )
  const told = await club.as(officer()).call(getCalendarSettings, atId())
  assert.ok(told.status === 200)
  assert.equal(told.body.google_calendar_id, made[0]?.id)
})

test('a calendar made by a sync is not kept where another was chosen meanwhile, or given up', async (t) => {
  const club = await testCalendar(t)
  await connect(club, { google_calendar_id: null })
  const marker = (await settingsOf(club.db, 1))?.calendar_marker ?? ''
  const kept = () =>
    club.db
      .transaction()
      .execute((trx) => keepMade(trx, 1, { id: 'made', marker, assigned: false }))
  await connect(club)
  await assert.rejects(kept(), { code: 'calendar.changed' })
  await connect(club, { google_calendar_id: null })
  await assert.rejects(kept(), { code: 'calendar.changed' })
  assert.equal((await settingsOf(club.db, 1))?.google_calendar_id, null)
})

for (const [what, key, code] of [
  ['no JSON', 'nonsense', 'calendar.key_not_an_object'],
  ['a JSON list', '[1]', 'calendar.key_not_an_object'],
  ['an object without a key', '{"client_email":"x@y.test"}', 'calendar.key_incomplete'],
] as const) {
  test(`a saved key that is ${what} fails the sync and does not use the deployment's account`, async (t) => {
    const club = await testCalendar(t)
    const { google_service_account: GOOGLE_SERVICE_ACCOUNT } = club.keys
    const url = await club.open({ GOOGLE_SERVICE_ACCOUNT })
    await connect(club)
    club.auth.secrets.set(1, { ...club.keys, google_service_account: key })
    const query = { wait: 'true' }
    const reply = await club.as(officer(), url).call(syncCalendar, { ...at(), query })
    assert.ok(reply.status === 200)
    assert.deepEqual([reply.body.status, reply.body.code], ['failed', code])
    assert.ok(!JSON.stringify(reply.body).includes('nonsense'))
    assert.deepEqual(club.world.calendar.requests, [])
  })
}

test("the deployment's keys serve an org what the superadmin set for it, and nobody else", async (t) => {
  const env: Record<string, string> = {}
  const club = await testCalendar(t, env)
  const { notes_api_key: NOTES_API_KEY, google_service_account: GOOGLE_SERVICE_ACCOUNT } = club.keys
  club.auth.secrets.clear()
  // the first service has no keys and hears jobs too
  const none = await club.as(officer()).call(syncCalendar, { ...at(), query: {} })
  assert.deepEqual([none.status, 'code' in none.body && none.body.code], [503, 'calendar.not_set'])
  await connect(club)
  const unconnected = await club.as(officer()).call(syncCalendar, { ...at(), query: {} })
  assert.equal(unconnected.status, 503)

  const url = await club.open({ NOTES_API_KEY, GOOGLE_SERVICE_ACCOUNT })
  const sync = (org: number) =>
    club.as(officer(org), url).call(syncCalendar, { ...at(org), query: {} })
  const refused = await sync(1)
  assert.deepEqual(
    [refused.status, 'code' in refused.body && refused.body.code],
    [409, 'calendar.not_assigned'],
  )
  const body = {
    notes_database_id: club.database.id.replaceAll('-', ''),
    google_calendar_id: GOOGLE_ID,
    calendar_sync_enabled: false,
  }
  const set = (org: number) =>
    club.as(officer(org, true), url).call(putCalendarSettings, { ...atId(org), body })
  assert.equal((await set(1)).status, 200)
  assert.equal((await sync(1)).status, 202)
  const taken = await set(2)
  assert.deepEqual(
    [taken.status, 'code' in taken.body && taken.body.code],
    [409, 'calendar.assigned_elsewhere'],
  )
  await connect(club, {}, 2)
  assert.equal((await sync(2)).status, 409)
})
