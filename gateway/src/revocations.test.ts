import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer } from '@guildhall/bus/calls'
import { busAs, testBroker } from '@guildhall/bus/testing'
import { isRevoked, REVOKED_BUCKET, REVOKED_COMPLETE } from '@guildhall/contracts/auth'
import { until } from '@guildhall/service/testing'
import { Kvm } from '@nats-io/kv'
import { watchRevocations } from './revocations.ts'

test('a gateway asks auth until the bucket is whole, then knows by itself, and refuses while blind', async (t) => {
  const nats = await testBroker(t)
  const auth = await busAs(t, { url: nats.url, peer: 'auth' })
  const gateway = await busAs(t, { url: nats.url, peer: 'gateway' })
  const asked: string[] = []
  answer(auth, isRevoked, async ({ jti }) => {
    asked.push(jti)
    return { revoked: jti === 'told' }
  })
  await auth.nats.flush()
  const ending = new AbortController()
  t.after(() => ending.abort())
  const revocations = watchRevocations(gateway, ending.signal)

  assert.deepEqual([await revocations.has('told'), await revocations.has('fine')], [true, false])
  const bucket = await new Kvm(auth.js).create(REVOKED_BUCKET)
  await bucket.put('seen', JSON.stringify({ exp: Date.now() / 1000 + 60 }))
  await until(() => revocations.has('seen'))
  assert.equal(revocations.isWatching(), false, 'auth has not said that the bucket is whole')
  await bucket.put(REVOKED_COMPLETE, '')
  await until(() => revocations.isWatching())
  asked.length = 0
  assert.deepEqual([await revocations.has('seen'), await revocations.has('new')], [true, false])
  assert.equal(asked.length, 0)

  process.kill(nats.pid() ?? assert.fail(), 'SIGKILL')
  await until(() => !revocations.isWatching())
  assert.equal(await revocations.has('seen'), true)
  const blind = await revocations.has('new').catch((error) => error.kind)
  assert.ok(blind === 'unavailable' || asked.includes('new'), 'never guessed')
  await until(() => revocations.isWatching())
})
