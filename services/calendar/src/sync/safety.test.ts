import assert from 'node:assert/strict'
import { test } from 'node:test'
import { syncCalendar } from '@guildhall/contracts/calendar'
import { notesDatabase, notesPage } from '@guildhall/sandbox/notes/world'
import { until } from '@guildhall/service/testing'
import { at, connect, officer, synced, type TestCalendar, testCalendar } from '../testing.ts'

const page = (name: string) => notesPage({ Name: name, Date: { start: '2026-12-01' } })
const pages = (n: number) => Array.from({ length: n }, (_, i) => page(`Event ${i}`))
const live = ({ calendar }: Pick<TestCalendar, 'calendar'>) =>
  [...calendar.events.values()].filter(({ status }) => status !== 'cancelled')
const sync = ({ as }: TestCalendar, url?: string) =>
  as(officer(), url).call(syncCalendar, { ...at(), query: {} })

test('ten who sync at once, at two replicas, share one run and one event per page', async (t) => {
  const club = await testCalendar(t)
  await connect(club)
  club.database.pages.push(...pages(40))
  const other = await club.open()
  const replies = await Promise.all(
    Array.from({ length: 10 }, (_, n) => sync(club, n % 2 ? other : undefined)),
  )
  assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([202]))
  const ids = new Set(replies.map(({ body }) => 'run_id' in body && body.run_id))
  assert.equal(ids.size, 1)
  await until(async () => (await synced(club)).counts[3] === 40)
  assert.equal(live(club).length, 40)
})

test('an event that a run made and did not note is found again, and its double is deleted', async (t) => {
  const club = await testCalendar(t)
  await connect(club)
  const [one = page('x')] = pages(1)
  club.database.pages.push(one)
  await synced(club)
  const [made] = live(club)
  assert.ok(made)
  one.values.gcal_id = null
  club.calendar.events.set('double', { ...made, id: 'double' })
  club.calendar.events.set('foreign', { ...made, id: 'foreign', extendedProperties: {} })
  assert.deepEqual((await synced(club)).counts, [0, 0, 1, 1])
  assert.deepEqual(
    [
      one.values.gcal_id,
      live(club)
        .map(({ id }) => id)
        .sort(),
    ],
    [made.id, ['foreign', made.id].sort()],
  )
})

test('two orgs that write into one calendar leave each other alone', async (t) => {
  const club = await testCalendar(t)
  await connect(club)
  club.database.pages.push(...pages(2))
  const other = notesDatabase('Others')
  other.pages.push(...pages(1))
  club.world.notes.databases.push(other)
  await connect(club, { notes_database_id: other.id }, 2)
  assert.deepEqual((await synced(club)).counts, [2, 0, 0, 0])
  assert.deepEqual((await synced(club, false, 2)).counts, [1, 0, 0, 0])
  assert.deepEqual((await synced(club)).counts, [0, 0, 0, 2])
})

test('an event that somebody deleted comes back', async (t) => {
  const club = await testCalendar(t)
  await connect(club)
  club.database.pages.push(page('Meeting'))
  await synced(club)
  for (const event of club.calendar.events.values()) event.status = 'cancelled'
  assert.deepEqual((await synced(club)).counts, [1, 0, 0, 0])
  assert.equal(live(club).length, 1)
})

test('a read that fails half-way deletes nothing, and the next sync repairs it', async (t) => {
  const club = await testCalendar(t, { NOTES_API_KEY: 'unused' })
  await connect(club)
  club.database.pages.push(...pages(120))
  await synced(club)
  club.world.calendar.calendars.splice(0)
  const gone = await synced(club)
  assert.deepEqual([gone.status, gone.code], ['failed', 'google_calendar.not_found'])
  club.world.calendar.calendars.push(club.calendar)
  club.world.faults.calendarWritesLeft = 3
  for (const { values } of club.database.pages.slice(0, 10)) values.Name = 'Other'
  const broken = await synced(club)
  assert.deepEqual([broken.status, broken.counts[1], broken.skipped.length], ['success', 3, 7])
  club.world.faults.calendarWritesLeft = undefined
  assert.deepEqual((await synced(club)).counts, [0, 7, 0, 113])
  assert.equal(live(club).length, 120)
})

for (const [fault, code] of [
  ['fails_half_way', 'notes.unreachable'],
  ['incomplete', 'notes.incomplete'],
] as const) {
  test(`a list of notes that is ${fault} deletes nothing`, async (t) => {
    const club = await testCalendar(t)
    await connect(club)
    club.database.pages.push(...pages(120))
    await synced(club)
    club.world.faults.notes = fault
    const broken = await synced(club)
    assert.deepEqual([broken.status, broken.code, broken.counts], ['failed', code, [0, 0, 0, 0]])
    assert.equal(live(club).length, 120)
  })
}

test('a single date that somebody moved in a series is theirs, and no double', async (t) => {
  const club = await testCalendar(t)
  await connect(club)
  club.database.pages.push(page('Weekly'))
  await synced(club)
  const [made] = live(club)
  assert.ok(made)
  const moved = { ...made, id: `${made.id}_20261208`, recurringEventId: made.id }
  club.calendar.events.set(moved.id, moved)
  assert.deepEqual((await synced(club)).counts, [0, 0, 0, 1])
  assert.equal(live(club).length, 2)
})

test('a page in the trash is gone, also where the notes still list it', async (t) => {
  const club = await testCalendar(t)
  await connect(club)
  club.database.pages.push(...pages(2))
  await synced(club)
  club.world.faults.notes = 'lists_trash'
  const [first] = club.database.pages
  if (first) first.in_trash = true
  assert.deepEqual((await synced(club)).counts, [0, 0, 1, 1])
})

test('losing more than half of more than five pages is refused until it is forced', async (t) => {
  const club = await testCalendar(t)
  await connect(club)
  club.database.pages.push(...pages(11))
  await synced(club)
  for (const gone of club.database.pages.slice(0, 6)) gone.in_trash = true
  const refused = await synced(club)
  assert.deepEqual([refused.status, refused.code], ['failed', 'calendar.shrunk'])
  assert.equal(live(club).length, 11)
  const [first] = club.database.pages
  if (first) first.in_trash = false
  assert.deepEqual((await synced(club)).counts, [0, 0, 5, 6])
  for (const gone of club.database.pages) gone.in_trash = true
  assert.deepEqual((await synced(club, true)).counts, [0, 0, 6, 0])
})

test('pages that cannot be synced are named with the reason, and their events stay', async (t) => {
  const club = await testCalendar(t)
  await connect(club)
  club.database.pages.push(...pages(2))
  await synced(club)
  const [first, second] = club.database.pages
  if (first) first.values.Date = null
  if (second) second.values.Date = { start: '2026-12-05', end: '2026-12-01' }
  const skipped = (await synced(club)).skipped.map(({ reason }) => reason)
  assert.deepEqual(skipped, [
    'it has no Date: set one',
    'its Date ends before it starts: correct it',
  ])
  delete club.database.properties.gcal_id
  const lacking = await synced(club)
  assert.match(lacking.skipped[0]?.reason ?? '', /lacks the property gcal_id of type text/)
  assert.deepEqual([lacking.status, lacking.skipped.length, live(club).length], ['success', 2, 2])
})
