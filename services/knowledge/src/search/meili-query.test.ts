import assert from 'node:assert/strict'
import { test } from 'node:test'
import { branchesOf } from './meili-query.ts'

test('alternatives are few, however many groups a query joins with OR', () => {
  const query = Array.from({ length: 100 }, (_, n) => `"a${n}" OR b${n}`).join(' ')
  const branches = branchesOf(query)
  assert.ok(branches.length > 0 && branches.length <= 32, `${branches.length} branches`)
  assert.ok(branches.every(({ q }) => q.startsWith('"a0"') || q.startsWith('"b0"')))
})
