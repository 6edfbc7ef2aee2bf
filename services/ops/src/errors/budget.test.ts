import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hourly } from './budget.ts'

test('thirty messages pass in an hour, and one more when the first is an hour old', () => {
  let at = Date.UTC(2031, 0, 1)
  const budget = hourly(() => new Date(at))
  const taken = () => Array.from({ length: 40 }, () => budget.take(null)).filter(Boolean).length
  assert.ok(budget.take(null))
  at += 1_000
  assert.equal(taken(), 29)
  at += 3_598_999
  assert.deepEqual([budget.room(null), budget.take(null)], [false, undefined])
  at += 1
  assert.deepEqual([budget.room(null), taken()], [true, 1])
  at += 1_000
  assert.equal(taken(), 29)
})

test('one org has ten of them, all orgs twenty, the server what is left, and what is given back is free', () => {
  const budget = hourly(() => new Date())
  const taken = (org: number | null) =>
    Array.from({ length: 40 }, () => budget.take(org)).filter(Boolean).length
  budget.take(1)?.()
  assert.deepEqual([taken(1), taken(2), taken(3), taken(null)], [10, 10, 0, 10])
})
