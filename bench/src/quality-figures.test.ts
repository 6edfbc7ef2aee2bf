import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ndcg, recall } from './quality-figures.ts'

const grades = new Map([
  ['a', 3],
  ['b', 2],
  ['c', 0],
])

test('the best order gains 1, a worse one less, and none of the answers 0', () => {
  assert.equal(ndcg(['a', 'b', 'x'], grades), 1)
  // (3 + 7 / log2 3) / (7 + 3 / log2 3)
  assert.equal(ndcg(['b', 'a'], grades).toFixed(4), '0.8340')
  assert.equal(ndcg(['x', 'c'], grades), 0)
})

test('what comes after the tenth place counts for nothing', () => {
  const late = [...Array.from({ length: 10 }, (_, n) => `x${n}`), 'a', 'b']
  assert.deepEqual([ndcg(late, grades), recall(late, grades)], [0, 0])
  assert.equal(recall(['b'], grades), 0.5)
})
