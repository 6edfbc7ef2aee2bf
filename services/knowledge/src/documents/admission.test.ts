import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAdmission } from './admission.ts'

const busy = { kind: 'rate_limited', code: 'document.busy' }

test('a process has twelve uploads in hand at most, four of one org, until they end', () => {
  const admit = createAdmission()
  const leave = [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3].map((org) => admit(org))
  assert.throws(() => admit(1), busy)
  leave.push(admit(4))
  assert.throws(() => admit(5), busy)
  leave[0]?.()
  const [last] = [admit(1)]
  assert.throws(() => admit(5), busy)
  last()
  admit(5)
})
