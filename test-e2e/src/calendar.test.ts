import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  getCalendarSettings,
  listCalendarRuns,
  listEvents,
  putCalendarSettings,
  syncCalendar,
} from '@guildhall/contracts/calendar'
import { putIntegration, testIntegration } from '@guildhall/contracts/integrations'
import { sharedCalendar } from '@guildhall/sandbox/calendar/world'
import { people } from '@guildhall/sandbox/demo'
import { notesDatabase } from '@guildhall/sandbox/notes/world'
import type { World } from '@guildhall/sandbox/world'
import { until } from '@guildhall/service/testing'
import { cliToken } from './people.ts'
import { type TestStack, testStack } from './stack.ts'

const RIVAL = { params: { org: 'rival' } }
const GOOGLE_ID = 'rival-club@group.calendar.google.com'
const DAY_MS = 86_400_000
const day = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10)

/** The notes and the calendar of Rival Club at the outside services. */
function planned({ notes, calendar }: World) {
  const database = notesDatabase('Rival Club Events', [
    { Name: 'Chess night', Date: { start: `${day(2)}T18:00:00Z` }, Location: 'Room 7' },
    { Name: 'Camp', Date: { start: day(5), end: day(6) }, Description: 'Bring a tent' },
    { Name: 'Someday', Date: null },
  ])
  const shared = sharedCalendar(GOOGLE_ID)
  notes.databases.push(database)
  calendar.calendars.push(shared)
  return { database, shared }
}

/** Rival Club's officer, with the keys of both services set as its own. */
async function connected({ as, signIn, sandbox }: TestStack) {
  const token = (await signIn(people.rivalOfficer)).access_token
  const officer = as(token)
  const { keys, calendar } = sandbox.world
  for (const [key, fields] of Object.entries({
    notes: { notes_api_key: keys.notes },
    calendar: { google_service_account: calendar.account.keyFile() },
  })) {
    const params = { org: 'rival', key }
    const set = await officer.call(putIntegration, { params, body: { fields } })
    assert.equal(set.status, 200, JSON.stringify(set.body))
    const tried = await officer.call(testIntegration, { params })
    assert.ok('ok' in tried.body && tried.body.ok, JSON.stringify(tried.body))
  }
  return { officer, token }
}

/** Changes that the two services were asked for so far. */
const writesOf = ({ notes, calendar }: World) =>
  [...notes.requests, ...calendar.requests].filter(
    (request) => !request.startsWith('GET') && !/token|query/.test(request),
  ).length

test('an officer connects notes and calendar: a sync writes, one more writes nothing, and everybody sees the events', async (t) => {
  const stack = await testStack(t)
  const { world } = stack.sandbox
  const { database, shared } = planned(world)
  const { officer, token } = await connected(stack)
  const atId = { params: { org_id: String(await stack.orgId(token, 'rival')) } }
  const body = { notes_database_id: database.id, google_calendar_id: GOOGLE_ID }
  const set = await officer.call(putCalendarSettings, {
    ...atId,
    body: { ...body, calendar_sync_enabled: true },
  })
  assert.equal(set.status, 201, JSON.stringify(set.body))
  async function synced() {
    const reply = await officer.call(syncCalendar, { ...RIVAL, query: { wait: 'true' } })
    assert.ok(reply.status === 200 && reply.body.status === 'success', JSON.stringify(reply.body))
    const { created, updated, deleted, unchanged, skipped } = reply.body
    return { counts: [created, updated, deleted, unchanged], skipped }
  }
  const first = await synced()
  assert.deepEqual(first.counts, [2, 0, 0, 0])
  assert.deepEqual(
    first.skipped.map(({ title }) => title),
    ['Someday'],
  )
  const camp = [...shared.events.values()].find(({ summary }) => summary === 'Camp')
  assert.deepEqual([camp?.start.date, camp?.end.date], [day(5), day(7)])

  const before = writesOf(world)
  assert.deepEqual((await synced()).counts, [0, 0, 0, 2])
  assert.equal(writesOf(world), before)
  const [chess] = database.pages
  if (chess) chess.values.Location = 'Room 8'
  assert.deepEqual((await synced()).counts, [0, 1, 0, 1])
  const runs = await officer.call(listCalendarRuns, { ...RIVAL, query: {} })
  assert.ok(runs.status === 200 && runs.body.runs.length === 3)
  const settings = await officer.call(getCalendarSettings, atId)
  assert.ok(settings.status === 200 && settings.body.last_sync_at)
  assert.equal(world.calendar.calendars[0]?.events.size, 0, "the other club's calendar is empty")

  const seen = await stack.as().call(listEvents, { ...RIVAL, query: {} })
  assert.ok(seen.status === 200)
  assert.deepEqual(
    seen.body.events.map(({ title, start, end }) => [title, start.slice(0, 10), end.slice(0, 10)]),
    [
      ['Chess night', day(2), day(2)],
      ['Camp', day(5), day(6)],
    ],
  )
  const file = await fetch(`${stack.url}/api/calendar/rival/events.ics`)
  assert.match(file.headers.get('content-type') ?? '', /^text\/calendar/)
  const text = await file.text()
  assert.match(text, /^BEGIN:VCALENDAR\r\n/)
  assert.match(text, /SUMMARY:Chess night\r\n/)
  assert.match(text, new RegExp(`DTEND;VALUE=DATE:${day(7).replaceAll('-', '')}\r\n`))
})

test('only officers of the club sync its calendar, and a demo club is connected from the start', async (t) => {
  const stack = await testStack(t)
  const officer = stack.as((await stack.signIn(people.officer)).access_token)
  const rival = stack.as((await stack.signIn(people.rivalOfficer)).access_token)
  const cli = stack.as(await cliToken(stack.url, people.member))
  const demo = { params: { org: 'demo' }, query: { wait: 'true' } }
  assert.equal((await rival.call(syncCalendar, demo)).status, 403)
  assert.equal((await cli.call(syncCalendar, demo)).status, 401)
  assert.equal((await stack.as().call(syncCalendar, demo)).status, 401)
  const [calendar] = stack.sandbox.world.calendar.calendars
  assert.equal(calendar?.events.size, 0)
  const own = await officer.call(syncCalendar, demo)
  assert.ok(own.status === 200 && own.body.created === 2, JSON.stringify(own.body))
  await until(() => calendar?.events.size === 2)
  const none = await rival.call(syncCalendar, { ...demo, ...RIVAL })
  assert.ok('error' in none.body && /notes_database_id/.test(none.body.error ?? ''))
})
