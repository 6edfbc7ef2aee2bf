import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getEventsFile, listEvents } from '@guildhall/contracts/calendar'
import { notesPage } from '@guildhall/sandbox/notes/world'
import ICAL from 'ical.js'
import { anyone, at, connect, type TestCalendar, testCalendar } from '../testing.ts'

const DAY_MS = 86_400_000
const instant = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString()
const day = (days: number) => instant(days).slice(0, 10)

const pages = (later = instant(9)) => [
  notesPage({ Name: 'Past', Date: { start: instant(-3) } }),
  notesPage({ Name: 'Later', Date: { start: later }, Location: 'Hall; east, 2' }),
  notesPage({ Name: 'Days', Date: { start: day(4), end: day(5) }, Description: 'Line\nöther 🎲' }),
]
async function listed({ as }: Pick<TestCalendar, 'as'>, query: object = {}) {
  const reply = await as(anyone()).call(listEvents, { ...at(), query })
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  return reply.body.events.map(({ title }) => title)
}

test('everybody sees the upcoming events in order, or those of a time', async (t) => {
  const club = await testCalendar(t)
  await connect(club)
  club.database.pages.push(...pages())
  assert.deepEqual(await listed(club), ['Days', 'Later'])
  assert.deepEqual(await listed(club, { from: instant(-9) }), ['Past', 'Days', 'Later'])
  assert.deepEqual(await listed(club, { to: instant(7) }), ['Days'])
  const bad = await club.as(anyone()).call(listEvents, { ...at(), query: { from: '2026-12-01' } })
  assert.equal(bad.status, 400)
  const unset = await club.as(anyone(2)).call(listEvents, { ...at(2), query: {} })
  assert.equal(unset.status, 503)
})

test('events are read once in five minutes, also by fifty at once, and old ones outlast a fault', async (t) => {
  const club = await testCalendar(t)
  await connect(club)
  club.database.pages.push(...pages())
  const reads = () => club.world.notes.requests.filter((line) => line.endsWith('/query')).length
  await Promise.all(Array.from({ length: 50 }, () => listed(club)))
  assert.equal(reads(), 1)
  club.database.pages.pop()
  club.clock.ahead = 5 * 60_000 - 2_000
  assert.deepEqual(await listed(club), ['Days', 'Later'])
  assert.equal(reads(), 1)
  club.world.keys.notes = 'another'
  club.clock.ahead = 5 * 60_000 + 1_000
  assert.deepEqual(await listed(club), ['Days', 'Later'])
  const asked = club.world.notes.requests.length
  assert.deepEqual(await listed(club), ['Days', 'Later'])
  assert.equal(club.world.notes.requests.length, asked)
  club.world.keys.notes = club.keys.notes_api_key
  club.clock.ahead = 6 * 60_000
  assert.deepEqual(await listed(club), ['Later'])
})

test('a calendar program reads the file: texts, instants, whole days with the day after their last', async (t) => {
  const club = await testCalendar(t)
  await connect(club)
  const at9 = instant(9)
  const all = pages(at9)
  club.database.pages.push(...all)
  const reply = await club.as(anyone()).call(getEventsFile, at())
  assert.ok(reply.status === 200)
  const text = await new Response(reply.body as never).text()
  assert.ok(text.split('\r\n').every((line) => Buffer.byteLength(line) <= 75))
  const parsed = new ICAL.Component(ICAL.parse(text))
  assert.equal(parsed.getFirstPropertyValue('version'), '2.0')
  const events = parsed.getAllSubcomponents('vevent').map((one) => new ICAL.Event(one))
  const [past, days, later] = events
  assert.deepEqual([past?.summary, days?.summary, later?.summary], ['Past', 'Days', 'Later'])
  assert.deepEqual(
    [days?.startDate.isDate, days?.startDate.toString(), days?.endDate.toString()],
    [true, day(4), day(6)],
  )
  assert.deepEqual([days?.description, later?.location], ['Line\nöther 🎲', 'Hall; east, 2'])
  const start = later?.startDate.toJSDate().getTime() ?? 0
  assert.equal(Math.floor(Date.parse(at9) / 1_000), start / 1_000)
  assert.equal(days?.uid, `${all[2]?.id}@guildhall`)
})
