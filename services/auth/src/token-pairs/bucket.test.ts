import assert from 'node:assert/strict'
import { test } from 'node:test'
import { busAs } from '@guildhall/bus/testing'
import {
  REVOKED_BEAT,
  REVOKED_BUCKET,
  REVOKED_COMPLETE,
  REVOKED_SILENCE_MS,
} from '@guildhall/contracts/auth'
import { newId } from '@guildhall/service/id'
import { cleanUp, until } from '@guildhall/service/testing'
import { Kvm } from '@nats-io/kv'
import { sql } from 'kysely'
import { readConfig } from '../config.ts'
import { start } from '../main.ts'
import { testAuth } from '../testing.ts'
import { keepRevokedBucket } from './bucket.ts'
import { revocation } from './queries.ts'
import { watchBucket } from './testing-bucket.ts'

const DAY_MS = 86_400_000

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

test('it beats no longer while a revocation waits in the outbox, and again once that is sent', async (t) => {
  const auth = await testAuth(t)
  const seen = await watchBucket(t, auth)
  const beat = () => seen.get(REVOKED_BEAT) ?? 0
  await until(() => beat() > 0)
  const { id, ...held } = revocation({ jti: newId(), expires_at: new Date() })
  const payload = JSON.stringify(held.payload)
  const row = { ...held, id, payload, subject: 'nowhere.auth', sent_at: null, stream_seq: null }
  await auth.db.insertInto('outbox').values(row).execute()
  let [last, since] = [beat(), performance.now()]
  await until(() => {
    if (beat() !== last) [last, since] = [beat(), performance.now()]
    return performance.now() - since > REVOKED_SILENCE_MS
  })
  await auth.db.updateTable('outbox').set({ subject: held.subject }).where('id', '=', id).execute()
  await until(() => beat() > last)
})

test('it does not beat before the bucket was written whole', async (t) => {
  const auth = await testAuth(t)
  const seen = await watchBucket(t, auth)
  await until(() => seen.has(REVOKED_BEAT))
  await auth.stop()
  const [mark, beat] = [seen.get(REVOKED_COMPLETE), seen.get(REVOKED_BEAT)]
  const again = await auth.db.transaction().execute(async (trx) => {
    await sql`lock table revoked_tokens in access exclusive mode`.execute(trx)
    const began = performance.now()
    const starting = await start(readConfig(auth.settings))
    await until(() => performance.now() - began > REVOKED_SILENCE_MS)
    assert.equal(seen.get(REVOKED_BEAT), beat)
    assert.equal(seen.get(REVOKED_COMPLETE), mark)
    return starting
  })
  cleanUp(t, async () => again[Symbol.asyncDispose]())
  await until(() => (seen.get(REVOKED_BEAT) ?? 0) > (beat ?? 0))
})
