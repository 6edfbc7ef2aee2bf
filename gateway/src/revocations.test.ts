import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer } from '@guildhall/bus/calls'
import type { Bus } from '@guildhall/bus/connect'
import { busAs, testBroker } from '@guildhall/bus/testing'
import {
  isRevoked,
  REVOKED_BEAT,
  REVOKED_BUCKET,
  REVOKED_COMPLETE,
  REVOKED_SILENCE_MS,
} from '@guildhall/contracts/auth'
import { cleanUp, until, whileStopped } from '@guildhall/service/testing'
import { Kvm } from '@nats-io/kv'
import { watchRevocations } from './revocations.ts'

/** The beat that auth writes. */
const beats = ({ nats }: Bus, everyMs = REVOKED_SILENCE_MS / 10) =>
  setInterval(() => nats.publish(`$KV.${REVOKED_BUCKET}.${REVOKED_BEAT}`), everyMs)

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
  assert.equal(revocations.hears(), false, 'auth has not said that the bucket is whole')
  await bucket.put(REVOKED_COMPLETE, '')
  const beating = beats(auth)
  cleanUp(t, async () => clearInterval(beating))
  await until(() => revocations.hears())
  asked.length = 0
  assert.deepEqual([await revocations.has('seen'), await revocations.has('new')], [true, false])
  assert.equal(asked.length, 0)

  process.kill(nats.pid() ?? assert.fail(), 'SIGKILL')
  await until(() => !revocations.hears())
  assert.equal(await revocations.has('seen'), true)
  const blind = await revocations.has('new').catch((error) => error.kind)
  assert.ok(blind === 'unavailable' || asked.includes('new'), 'never guessed')
  await until(() => revocations.hears())
})

test('a broker that hangs is no longer believed after a second, and what was lost is forgotten', async (t) => {
  const nats = await testBroker(t)
  const auth = await busAs(t, { url: nats.url, peer: 'auth' })
  const gateway = await busAs(t, { url: nats.url, peer: 'gateway' })
  const bucket = await new Kvm(auth.js).create(REVOKED_BUCKET)
  await bucket.put(REVOKED_COMPLETE, '')
  const beating = beats(auth)
  cleanUp(t, async () => clearInterval(beating))
  const ending = new AbortController()
  t.after(() => ending.abort())
  const revocations = watchRevocations(gateway, ending.signal)
  let again = 0
  revocations.onHearingAgain(() => again++)
  await until(() => revocations.hears())
  assert.equal(again, 1)

  await whileStopped(nats.pid() ?? assert.fail(), async () => {
    await until(() => !revocations.hears(), REVOKED_SILENCE_MS + 500)
    await assert.rejects(revocations.has('unknown'), { kind: 'unavailable' })
  })
  await until(() => revocations.hears())
  assert.equal(again, 2)
  assert.equal(await revocations.has('unknown'), false)
})

test('a beat that replaces another while a gateway begins to watch leaves none deaf', async (t) => {
  const nats = await testBroker(t)
  const auth = await busAs(t, { url: nats.url, peer: 'auth' })
  const gateway = await busAs(t, { url: nats.url, peer: 'gateway' })
  const bucket = await new Kvm(auth.js).create(REVOKED_BUCKET)
  await bucket.put(REVOKED_COMPLETE, '')
  const beating = beats(auth, 1)
  cleanUp(t, async () => clearInterval(beating))
  const ending = new AbortController()
  t.after(() => ending.abort())
  const all = Array.from({ length: 20 }, () => watchRevocations(gateway, ending.signal))
  await until(() => all.every(({ hears }) => hears()))
})

test('a mark that is no longer fresh when a gateway begins to watch is not believed: entries may have ended', async (t) => {
  const completeMs = 500
  const nats = await testBroker(t)
  const auth = await busAs(t, { url: nats.url, peer: 'auth' })
  const gateway = await busAs(t, { url: nats.url, peer: 'gateway' })
  answer(auth, isRevoked, async ({ jti }) => ({ revoked: jti === 'ended' }))
  const bucket = await new Kvm(auth.js).create(REVOKED_BUCKET)
  await bucket.put(REVOKED_COMPLETE, '')
  const beating = beats(auth)
  cleanUp(t, async () => clearInterval(beating))
  const timeOf = async (key: string) => (await bucket.get(key))?.created.getTime() ?? 0
  await until(
    async () => (await timeOf(REVOKED_BEAT)) - (await timeOf(REVOKED_COMPLETE)) > completeMs,
  )
  const ending = new AbortController()
  t.after(() => ending.abort())
  const revocations = watchRevocations(gateway, ending.signal, completeMs)
  let heard = false
  revocations.onHearingAgain(() => {
    heard = true
  })
  await until(() => heard) // it reads the bucket and the beat
  assert.equal(await revocations.has('ended'), true, 'auth was asked')
  assert.equal(revocations.hears(), false)
  await bucket.put(REVOKED_COMPLETE, '')
  await until(() => revocations.hears())
})
