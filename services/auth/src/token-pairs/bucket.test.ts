import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { busAs } from '@guildhall/bus/testing'
import { REVOKED_BUCKET, REVOKED_COMPLETE } from '@guildhall/contracts/auth'
import { newId } from '@guildhall/service/id'
import { cleanUp, until } from '@guildhall/service/testing'
import { Kvm } from '@nats-io/kv'
import { readConfig } from '../config.ts'
import { start } from '../main.ts'
import { type TestAuth, testAuth } from '../testing.ts'
import { keepRevokedBucket } from './bucket.ts'

const DAY_MS = 86_400_000

/** The last revision of each key of the bucket, as a gateway sees it. */
async function watchBucket(t: TestContext, { settings }: TestAuth) {
  const bus = await busAs(t, { url: settings.NATS_URL, peer: 'gateway' })
  const seen = new Map<string, number>()
  const entries = await (await new Kvm(bus.js).open(REVOKED_BUCKET)).watch()
  cleanUp(t, async () => entries.stop())
  void (async () => {
    for await (const { key, revision } of entries) seen.set(key, revision)
  })()
  return seen
}

test('every revocation that still counts is in the bucket before its mark, and no other', async (t) => {
  const auth = await testAuth(t)
  const row = (days: number) => ({ jti: newId(), expires_at: new Date(Date.now() + days * DAY_MS) })
  const counting = Array.from({ length: 501 }, () => row(100))
  const over = row(-1)
  await auth.db
    .insertInto('revoked_tokens')
    .values([...counting, over])
    .execute()
  const seen = await watchBucket(t, auth)

  const again = await start(readConfig(auth.settings)) // it finds them in the table
  cleanUp(t, async () => again[Symbol.asyncDispose]())
  const revisions = () => counting.map(({ jti }) => seen.get(jti) ?? Number.POSITIVE_INFINITY)
  await until(() => Math.max(...revisions()) < (seen.get(REVOKED_COMPLETE) ?? 0))
  assert.ok(!seen.has(over.jti))
})

test('a bucket that took too long to write gets no mark', async (t) => {
  const auth = await testAuth(t)
  const seen = await watchBucket(t, auth)
  await until(() => seen.has(REVOKED_COMPLETE))
  await auth.stop()
  const mark = seen.get(REVOKED_COMPLETE)
  const bus = await busAs(t, { url: auth.settings.NATS_URL, peer: 'auth' })
  const ending = new AbortController()
  cleanUp(t, async () => ending.abort())
  const writing: Promise<void>[] = []
  const onConnected = (write: () => Promise<void>) => void writing.push(write())
  const deps = { bus: { ...bus, onConnected }, db: auth.db, now: () => new Date() }
  keepRevokedBucket(deps, ending.signal, 0)
  await assert.rejects(Promise.all(writing), /took longer than 0 ms/)
  await (await new Kvm(bus.js).open(REVOKED_BUCKET)).put('later', '')
  await until(() => seen.has('later'))
  assert.equal(seen.get(REVOKED_COMPLETE), mark)
})
