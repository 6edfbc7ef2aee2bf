import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createQueue } from './queue.ts'

const job = (text: string) => ({ text, resolve() {}, reject() {} })
const lengths = (jobs: { text: string }[]) => jobs.map(({ text }) => text.length)

test('a question goes before the passages that came earlier', () => {
  const queue = createQueue()
  for (let i = 0; i < 64; i++) queue.add(job('p'.repeat(600)), false)
  assert.deepEqual(lengths(queue.nextBatch()), [600])
  queue.add(job('question'), true)
  assert.deepEqual(lengths(queue.nextBatch()), [8])
  assert.deepEqual(lengths(queue.nextBatch()), [600])
})

test('a batch holds what the model does in the time of one long passage, padding counted', () => {
  const queue = createQueue()
  for (const length of [40, 40, 300, 300, 300, 5000, 10]) queue.add(job('p'.repeat(length)), false)
  assert.deepEqual(lengths(queue.nextBatch()), [40, 40])
  assert.deepEqual(lengths(queue.nextBatch()), [300, 300])
  assert.deepEqual(lengths(queue.nextBatch()), [300])
  assert.deepEqual(lengths(queue.nextBatch()), [5000])
  assert.deepEqual(lengths(queue.nextBatch()), [10])
  assert.deepEqual(queue.nextBatch(), [])
  for (let i = 0; i < 40; i++) queue.add(job('short'), true)
  assert.equal(queue.nextBatch().length, 16)
})
