import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { kept } from './kept.ts'

/** A cache whose fetches give their number once `slow` lets them. */
function counting(slow: () => Promise<unknown>) {
  let fetched = 0
  const fetchMethod = async () => {
    const number = ++fetched
    await slow()
    return { number }
  }
  return new LRUCache<string, { number: number }>({ max: 10, ttl: 60_000, fetchMethod })
}

test('what is dropped twenty times while it is fetched is fetched until it was not dropped', async () => {
  const gate = Promise.withResolvers<void>()
  const cache = counting(() => gate.promise)
  const asking = Promise.all([kept(cache, 'key'), kept(cache, 'key')])
  for (let n = 0; n < 20; n++) {
    await turn()
    cache.delete('key')
  }
  gate.resolve()
  assert.deepEqual(await asking, [{ number: 21 }, { number: 21 }])
  assert.deepEqual(await kept(cache, 'key'), { number: 21 }, 'and then kept')
})

test('what is dropped all the time is a refusal that may get better', async () => {
  const cache = counting(() => turn().then(() => cache.delete('key')))
  await assert.rejects(kept(cache, 'key', {}, 100), {
    kind: 'unavailable',
    code: 'cache.unsettled',
    retryAfter: 1,
  })
})

test('another failure is not tried again', async () => {
  let asked = 0
  const cache = counting(async () => {
    asked++
    throw new Error('away')
  })
  await assert.rejects(kept(cache, 'key'), { message: 'away' })
  assert.equal(asked, 1)
})
