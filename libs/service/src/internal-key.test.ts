import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SettingsError } from './config.ts'
import { derived, ownKey } from './internal-key.ts'

const INTERNAL_KEY = 'ab'.repeat(32)

test('a process derives the same from its own key as others from the whole', () => {
  const own = ownKey(INTERNAL_KEY, 'store')
  assert.match(own, /^own-store-[0-9a-f]{64}$/)
  assert.deepEqual(derived(own, 'store', 'nats', 24), derived(INTERNAL_KEY, 'store', 'nats', 24))
})

test('names and uses differ, and an own key tells nothing of another process', () => {
  const of = (name: string, use: string) => derived(INTERNAL_KEY, name, use, 24).toString('hex')
  assert.equal(new Set([of('store', 'nats'), of('store', 'caller'), of('ops', 'nats')]).size, 3)
  const own = ownKey(INTERNAL_KEY, 'store')
  assert.throws(() => derived(own, 'ops', 'nats', 24), SettingsError)
  assert.throws(() => ownKey(own, 'ops'), /one of store alone/)
})
