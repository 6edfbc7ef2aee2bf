import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type RankedPassage, spansOf, withoutCovered } from './spans.ts'

const passage = (ordinal: number, rest: Partial<RankedPassage> = {}): RankedPassage => ({
  id: `${ordinal}`,
  version_id: 'v',
  ordinal,
  level: 0,
  parent_ordinal: null,
  place: ordinal,
  content: `${ordinal}`,
  fetched_at: new Date(0),
  key: 'k',
  title: 'T',
  url: '',
  category: 'docs',
  public: false,
  score: 1,
  ...rest,
})
const shape = (spans: ReturnType<typeof spansOf>) =>
  spans.map(({ best, first, last }) => [best.ordinal, first, last])

test('spans overlap when they share a row, not when they touch', () => {
  const most = 9
  assert.deepEqual(shape(spansOf([passage(5), passage(8)], { window: 1, most })), [
    [5, 4, 6],
    [8, 7, 9],
  ])
  assert.deepEqual(shape(spansOf([passage(5), passage(7)], { window: 1, most })), [[5, 4, 8]])
  assert.deepEqual(
    shape(spansOf([passage(5), passage(5, { version_id: 'w' })], { window: 1, most })),
    [
      [5, 4, 6],
      [5, 4, 6],
    ],
  )
})

test('a row that bridges two results joins them at the better place, and the list is filled again', () => {
  const ranked = [passage(10), passage(14), passage(50), passage(12), passage(90)]
  assert.deepEqual(shape(spansOf(ranked, { window: 1, most: 4 })), [
    [10, 9, 15],
    [50, 49, 51],
    [90, 89, 91],
  ])
  assert.deepEqual(shape(spansOf(ranked, { window: 1, most: 3 })), [
    [10, 9, 11],
    [14, 13, 15],
    [50, 49, 51],
  ])
})

test('rows below a summary that ranks higher are covered, at any depth and in their own version only', () => {
  const top = passage(9, { level: 2, place: null })
  const middle = passage(8, { level: 1, parent_ordinal: 9, place: null })
  const below = passage(1, { parent_ordinal: 8 })
  const foreign = passage(1, { parent_ordinal: 9, version_id: 'w' })
  const kept = (rows: RankedPassage[]) => withoutCovered(rows).map(({ ordinal }) => ordinal)
  assert.deepEqual(kept([top, middle, below, foreign]), [9, 1])
  assert.deepEqual(kept([below, middle, top]), [1, 8, 9])
  assert.deepEqual(kept([middle, below]), [8])
})
