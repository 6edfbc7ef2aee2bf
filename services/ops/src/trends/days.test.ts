import assert from 'node:assert/strict'
import { test } from 'node:test'
import { daysUpTo, filled, sumOf } from './days.ts'

test('days are those of UTC, from the first instant of one to its last', () => {
  const days = ['2031-02-27', '2031-02-28', '2031-03-01']
  for (const now of ['2031-03-01T00:00:00.000Z', '2031-03-01T23:59:59.999Z'])
    assert.deepEqual(daysUpTo(new Date(now), 3), days)
  assert.deepEqual(daysUpTo(new Date('2031-03-02T00:00:00.000Z'), 2), ['2031-03-01', '2031-03-02'])
})

test('what several tell of a day adds up, and what is of no day shown is left out', () => {
  const told = [
    { date: '2031-03-01', value: 0.1, failed: 1 },
    { date: '2031-03-01', value: 0.2, failed: 1 },
    { date: '2031-02-28', value: 9, failed: 9 },
  ]
  const shown = filled(['2031-03-01', '2031-03-02'], told)
  assert.deepEqual(
    shown.map(({ date, failed }) => [date, failed]),
    [
      ['2031-03-01', 2],
      ['2031-03-02', 0],
    ],
  )
  assert.equal(sumOf(shown.map(({ value }) => value)), 0.3)
})
