import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dueDay, eventsOn } from './rules.ts'

const LONG_AGO = new Date('2026-01-01T00:00:00Z')
const at = (events_post_at: string, time_zone = 'America/New_York', changed_at = LONG_AGO) => ({
  events_post_at,
  time_zone,
  changed_at,
})
const due = (wanted: ReturnType<typeof at>, now: string) => dueDay(wanted, new Date(now))

test('a post is due from its time in the time zone of the org, for six hours', () => {
  const nine = at('09:00') // 14:00 UTC in winter
  assert.deepEqual(due(nine, '2026-12-02T13:59:59Z'), { day: '2026-12-01', late: true })
  assert.deepEqual(due(nine, '2026-12-02T14:00:00Z'), { day: '2026-12-02', late: false })
  assert.deepEqual(due(nine, '2026-12-02T19:59:59Z'), { day: '2026-12-02', late: false })
  assert.deepEqual(due(nine, '2026-12-02T20:00:00Z'), { day: '2026-12-02', late: true })
})

test('one just before midnight is still the post of that day after midnight', () => {
  assert.deepEqual(due(at('23:59'), '2026-12-03T05:05:00Z'), { day: '2026-12-02', late: false })
})

test('a time that is set after it has come begins the next day', () => {
  const wanted = at('09:00', 'UTC', new Date('2026-12-02T10:00:00Z'))
  assert.equal(due(wanted, '2026-12-02T10:05:00Z'), undefined)
  assert.deepEqual(due(wanted, '2026-12-03T09:00:00Z'), { day: '2026-12-03', late: false })
})

test('a time that the clock leaves out, or has twice, is one post of its day', () => {
  const skipped = at('02:30')
  assert.equal(due(skipped, '2026-03-08T07:29:00Z')?.day, '2026-03-07')
  assert.equal(due(skipped, '2026-03-08T07:30:00Z')?.day, '2026-03-08')
  const twice = at('01:30')
  assert.equal(due(twice, '2026-11-01T05:30:00Z')?.day, '2026-11-01')
  assert.equal(due(twice, '2026-11-01T06:30:00Z')?.day, '2026-11-01')
})

test('the events of a day are those that are on it in that time zone', () => {
  const event = (page_id: string, when: object) => ({ page_id, title: page_id, when }) as never
  const events = [
    event('late', { instants: { start: '2026-12-03T04:00:00Z', end: '2026-12-03T04:30:00Z' } }),
    event('next', { instants: { start: '2026-12-03T05:00:00Z', end: '2026-12-03T06:00:00Z' } }),
    event('week', { days: { first: '2026-11-30', last: '2026-12-04' } }),
    event('before', { days: { first: '2026-12-01', last: '2026-12-01' } }),
  ]
  const found = eventsOn(events, '2026-12-02', 'America/New_York')
  assert.deepEqual(
    found.map(({ page_id }) => page_id),
    ['late', 'week'],
  )
})
