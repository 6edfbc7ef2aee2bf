import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fuse } from './fuse.ts'

const scored = (lists: string[][], k: number, weights: number[] = []) =>
  fuse(
    lists.map((ids, n) => ({ ids, weight: weights[n] ?? 1 })),
    k,
  )
const ids = (lists: string[][], k = 60) => scored(lists, k).map(({ id }) => id)

test('an id in both lists beats the best of one', () => {
  assert.deepEqual(
    ids([
      ['a', 'b'],
      ['c', 'b'],
    ]),
    ['b', 'a', 'c'],
  )
})

test('scores are 1/(k + rank) with ranks from 1', () => {
  assert.deepEqual(scored([['a', 'b'], ['b']], 1), [
    { id: 'b', score: 1 / 3 + 1 / 2 },
    { id: 'a', score: 1 / 2 },
  ])
})

test('of a tie the one of the earlier list comes first', () => {
  const [first, second] = [
    ['b', 'x'],
    ['a', 'y'],
  ]
  assert.deepEqual(ids([first ?? [], second ?? []]), ['b', 'a', 'x', 'y'])
  assert.deepEqual(ids([second ?? [], first ?? []]), ['a', 'b', 'y', 'x'])
})

test('one list keeps its order and no list is nothing', () => {
  assert.deepEqual(ids([['c', 'a', 'b']]), ['c', 'a', 'b'])
  assert.deepEqual(ids([]), [])
  assert.deepEqual(ids([[], []]), [])
})

test('a list that is trusted less adds less', () => {
  assert.deepEqual(
    scored([['a', 'b'], ['b']], 1, [1, 0.3]),
    [
      { id: 'b', score: 1 / 3 + 0.3 / 2 },
      { id: 'a', score: 1 / 2 },
    ].toSorted((one, other) => other.score - one.score),
  )
})

test('a repeated id counts once', () => {
  assert.deepEqual(scored([['a', 'a', 'b']], 1), [
    { id: 'a', score: 1 / 2 },
    { id: 'b', score: 1 / 3 },
  ])
})
