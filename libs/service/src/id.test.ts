import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { newId } from './id.ts'

test('an id is a UUID of version 7 that holds its time', () => {
  const at = Date.UTC(2031, 4, 5, 6, 7, 8, 9)
  const id = newId(at)
  assert.ok(z.uuidv7().safeParse(id).success)
  assert.equal(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16), at)
})

test('ids sort by the millisecond of their making', () => {
  const made = Array.from({ length: 2_000 }, (_, i) => newId(1_700_000_000_000 + i * 977))
  assert.deepEqual(made.toSorted(), made)
})

test('ids of the same millisecond differ', () => {
  const made = Array.from({ length: 10_000 }, () => newId(1_700_000_000_000))
  assert.equal(new Set(made).size, made.length)
})
