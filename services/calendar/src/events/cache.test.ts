import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listEvents } from '@guildhall/contracts/calendar'
import { notesDatabase, notesPage } from '@guildhall/sandbox/notes/world'
import { until } from '@guildhall/service/testing'
import { anyone, at, connect, type TestCalendar, testCalendar } from '../testing.ts'

const MINUTE_MS = 60_000
const page = (name: string) =>
  notesPage({ Name: name, Date: { start: new Date(Date.now() + 1_440 * MINUTE_MS).toISOString() } })

/** The titles, or the code of the error, and how long it took. */
async function asked({ as }: TestCalendar, org = 1) {
  const begun = performance.now()
  const { body } = await as(anyone(org)).call(listEvents, { ...at(org), query: {} })
  const said = 'events' in body ? body.events.map(({ title }) => title) : body.code
  return { said, ms: performance.now() - begun }
}

/** One whose events were read, and are too old by now. */
async function aged(club: TestCalendar) {
  await connect(club)
  club.database.pages.push(page('Meeting'))
  assert.deepEqual((await asked(club)).said, ['Meeting'])
  club.clock.ahead = 6 * MINUTE_MS
  club.world.notes.requests.length = 0
}

test('while the notes are down the old events are answered soon, and half a minute long nothing is read', async (t) => {
  const club = await testCalendar(t)
  await aged(club)
  const { requests } = club.world.notes
  club.world.faults.notes = 'down'
  const first = asked(club)
  await until(() => requests.length > 0)
  club.clock.ahead += 40_000 // the read takes long: what counts is when it ended
  const { said, ms } = await first
  assert.deepEqual(said, ['Meeting'])
  assert.ok(ms < 4_000, `${ms} ms`)
  const reads = await until(() => requests.length === 2 && requests.length)
  for (let n = 0; n < 5; n++) assert.deepEqual((await asked(club)).said, ['Meeting'])
  assert.equal(requests.length, reads)
  club.world.faults.notes = undefined
  club.database.pages.push(page('Party'))
  club.clock.ahead += MINUTE_MS
  await until(async () => (await asked(club)).said.length === 2)
})

test('notes that hang are waited for two seconds once, and ten where there are no events', async (t) => {
  const club = await testCalendar(t)
  await aged(club)
  const other = notesDatabase('Others')
  club.world.notes.databases.push(other)
  await connect(club, { notes_database_id: other.id }, 2)
  club.world.faults.notes = 'hangs'
  const none = asked(club, 2)
  const first = await asked(club)
  assert.deepEqual(first.said, ['Meeting'])
  assert.ok(first.ms < 4_000, `${first.ms} ms`)
  const next = await asked(club)
  assert.deepEqual(next.said, ['Meeting'])
  assert.ok(next.ms < 1_000, `${next.ms} ms`)
  assert.equal(club.world.notes.requests.length, 2)
  const { said, ms } = await none
  assert.equal(said, 'notes.unreachable')
  assert.ok(ms < 12_000, `${ms} ms`)
})

test('an org whose key is gone is told so, and not the events of before', async (t) => {
  const club = await testCalendar(t)
  await aged(club)
  club.auth.secrets.clear()
  for (let n = 0; n < 2; n++) assert.equal((await asked(club)).said, 'calendar.not_connected')
})
