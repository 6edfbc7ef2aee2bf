import assert from 'node:assert/strict'
import { test } from 'node:test'
import { spanOf, whenOf } from './when.ts'

const NEW_YORK = 'America/New_York'
const whole = (first: string, last = first) => ({ days: { first, last } })
const from = (start: string, end: string) => ({ instants: { start, end } })

for (const [what, date, expected] of [
  ['a day', { start: '2026-12-01' }, whole('2026-12-01')],
  ['days', { start: '2026-12-31', end: '2027-01-02' }, whole('2026-12-31', '2027-01-02')],
  [
    'a time without an end',
    { start: '2026-12-01T19:00:00.000-05:00' },
    from('2026-12-02T00:00:00Z', '2026-12-02T01:00:00Z'),
  ],
  [
    'a time of a zone',
    { start: '2026-12-01T19:00:00', end: '2026-12-01T20:30:00', time_zone: 'Europe/Berlin' },
    from('2026-12-01T18:00:00Z', '2026-12-01T19:30:00Z'),
  ],
  [
    'a time of no zone',
    { start: '2026-07-01T19:00:00' },
    from('2026-07-01T23:00:00Z', '2026-07-02T00:00:00Z'),
  ],
  [
    'a time that the clocks skip',
    { start: '2026-03-08T02:30:00' },
    from('2026-03-08T07:30:00Z', '2026-03-08T08:30:00Z'),
  ],
  ['backwards', { start: '2026-12-02', end: '2026-12-01' }, 'its Date ends before it starts'],
  [
    'backwards by the hour',
    { start: '2026-12-01T02:00:00Z', end: '2026-12-01T01:00:00Z' },
    'its Date ends before it starts',
  ],
  [
    'a day and a time',
    { start: '2026-12-01', end: '2026-12-01T10:00:00Z' },
    'its Date has a time at one end alone',
  ],
  ['no day there is', { start: '2026-02-30' }, 'its Date cannot be read'],
  [
    'no zone there is',
    { start: '2026-12-01T10:00:00', time_zone: 'Nowhere' },
    'its Date cannot be read',
  ],
] as const) {
  test(`a date of the notes that is ${what} means what people would say`, () => {
    assert.deepEqual(whenOf(date, NEW_YORK), expected)
  })
}

test('whole days last until midnight where the club is, also when the clocks change', () => {
  const { start, end } = spanOf(whole('2026-11-01'), NEW_YORK)
  assert.equal(new Date(start).toISOString(), '2026-11-01T04:00:00.000Z')
  assert.equal((end - start) / 3_600_000, 25)
})
