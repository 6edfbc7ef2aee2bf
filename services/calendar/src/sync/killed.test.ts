import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listCalendarRuns, syncCalendar } from '@guildhall/contracts/calendar'
import { notesPage } from '@guildhall/sandbox/notes/world'
import { until } from '@guildhall/service/testing'
import { at, connect, officer, synced, testCalendar } from '../testing.ts'
import { calendarProcess } from '../testing-process.ts'

const pages = (n: number) =>
  Array.from({ length: n }, (_, i) =>
    notesPage({ Name: `Event ${i}`, Date: { start: '2026-12-01' } }),
  )
/** Longer than the broker waits before it gives a lost job to another process. */
const TAKEN_UP_MS = 90_000

test('a sync whose process is killed half-way is finished by another, without a double', async (t) => {
  let kill = async () => {}
  const env = { NOTES_REQUESTS_PER_SECOND: '20' }
  const club = await testCalendar(t, env, async (settings) => {
    const { url, kill: killed } = await calendarProcess(t, settings)
    kill = killed
    return url
  })
  await connect(club)
  club.database.pages.push(...pages(100))
  await club.as(officer()).call(syncCalendar, { ...at(), query: {} })
  await until(() => club.calendar.events.size > 20)
  await kill()
  assert.ok(club.calendar.events.size < 100)
  const url = await club.open({ NOTES_REQUESTS_PER_SECOND: '1000' })
  const by = club.as(officer(), url)
  const ended = await until(async () => {
    const reply = await by.call(listCalendarRuns, { ...at(), query: {} })
    return reply.status === 200 && reply.body.runs.find(({ status }) => status !== 'started')
  }, TAKEN_UP_MS)
  assert.deepEqual([ended.status, ended.skipped], ['success', []])
  const { events } = club.calendar
  assert.equal(events.size, 100)
  assert.ok(club.database.pages.every(({ values }) => events.has(String(values.gcal_id))))
})

test('2 000 events are synced in one run, and neither side is asked more often than it allows', async (t) => {
  const paces = { NOTES_REQUESTS_PER_SECOND: '150', GOOGLE_REQUESTS_PER_SECOND: '300' }
  const club = await testCalendar(t, paces)
  await connect(club)
  club.database.pages.push(...pages(2_000))
  club.world.notes.perSecond = 200
  club.world.calendar.perSecond = 400
  await club.as(officer()).call(syncCalendar, { ...at(), query: {} })
  const { counts } = await until(async () => {
    const waited = await synced(club).catch(() => undefined)
    return waited?.counts[0] === 2_000 && waited
  }, 110_000)
  assert.deepEqual(counts, [2_000, 0, 0, 0])
  const writes = (requests: string[], method: string) =>
    requests.filter((line) => line.startsWith(method)).length
  assert.equal(writes(club.world.calendar.requests, 'POST'), 2_000)
  assert.equal(writes(club.world.notes.requests, 'PATCH'), 2_000)
  assert.deepEqual((await synced(club)).counts, [0, 0, 0, 2_000])
})
