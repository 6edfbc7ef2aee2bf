import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getCalendarSettings, listEvents } from '@guildhall/contracts/calendar'
import { notesPage } from '@guildhall/sandbox/notes/world'
import { anyone, at, atId, connect, GOOGLE_ID, officer, synced, testCalendar } from '../testing.ts'

const FIRST = '2026-01-01T00:00:00Z'
const page = (name: string, more: object = {}) =>
  notesPage({
    Name: name,
    Date: { start: '2026-12-01T19:00:00.000-05:00', end: '2026-12-01T21:00:00.000-05:00' },
    ...more,
  })

test('events are made, changed and deleted as the notes say, and a sync repeated at once writes nothing', async (t) => {
  const club = await testCalendar(t)
  const { database, calendar, world } = club
  await connect(club)
  database.pages.push(
    page('Meeting', { Location: 'Room 1', Description: 'Bring\r\npizza ' }),
    page('Retreat', { Date: { start: '2026-12-05', end: '2026-12-06' } }),
    page('Soon', { Date: { start: '2026-12-07T10:00:00', time_zone: 'Europe/Berlin' } }),
  )
  assert.deepEqual(await synced(club), {
    status: 'success',
    counts: [3, 0, 0, 0],
    skipped: [],
    code: null,
  })
  const [meeting, retreat, soon] = [...calendar.events.values()].sort((a, b) =>
    String(a.summary).localeCompare(String(b.summary)),
  )
  assert.deepEqual(
    [meeting?.summary, meeting?.location, meeting?.description],
    ['Meeting', 'Room 1', 'Bring\npizza'],
  )
  assert.deepEqual([retreat?.start.date, retreat?.end.date], ['2026-12-05', '2026-12-07'])
  assert.deepEqual(
    [soon?.start.dateTime, soon?.end.dateTime],
    ['2026-12-07T09:00:00Z', '2026-12-07T10:00:00Z'],
  )
  for (const { id, values } of database.pages) {
    const event = [...calendar.events.values()].find(
      ({ extendedProperties }) => extendedProperties?.private?.sourcePageId === id,
    )
    assert.equal(values.gcal_id, event?.id)
  }

  const asked = world.calendar.requests.length + world.notes.requests.length
  assert.deepEqual((await synced(club)).counts, [0, 0, 0, 3])
  const after = [...world.calendar.requests, ...world.notes.requests].slice(0)
  assert.ok(after.length > asked)
  const writes = () =>
    [...world.calendar.requests, ...world.notes.requests].filter(
      (line) => !line.startsWith('GET') && !line.endsWith('/query'),
    ).length
  const before = writes()
  assert.deepEqual((await synced(club)).counts, [0, 0, 0, 3])
  assert.equal(writes(), before)

  const [first, second] = database.pages
  if (first) first.values.Name = 'Big meeting'
  if (second) second.values.Date = { start: '2026-12-05' }
  database.pages.pop()
  assert.deepEqual((await synced(club)).counts, [0, 2, 1, 0])
  assert.equal(retreat && calendar.events.get(retreat.id)?.end.date, '2026-12-06')
  const told = await club.as(officer()).call(getCalendarSettings, atId())
  assert.ok(told.status === 200 && told.body.last_sync_at)
  assert.equal(told.body.google_calendar_id, GOOGLE_ID)
})

test('a text that is cut at a space, or begins with one, is not written again', async (t) => {
  const club = await testCalendar(t)
  await connect(club)
  const Description = `${'y'.repeat(7_999)} and more`
  club.database.pages.push(page(`${'x'.repeat(999)} more`, { Description, Location: ' Hall ' }))
  assert.deepEqual((await synced(club)).counts, [1, 0, 0, 0])
  assert.deepEqual((await synced(club)).counts, [0, 0, 0, 1])
})

test('what a sync has read is what everybody sees from then on', async (t) => {
  const club = await testCalendar(t)
  await connect(club)
  const seen = async () => {
    const { body } = await club.as(anyone()).call(listEvents, { ...at(), query: { from: FIRST } })
    return 'events' in body ? body.events.map(({ title }) => title) : assert.fail(body.error)
  }
  assert.deepEqual(await seen(), [])
  club.database.pages.push(page('Meeting'))
  assert.deepEqual(await seen(), [])
  await synced(club)
  assert.deepEqual(await seen(), ['Meeting'])
})
