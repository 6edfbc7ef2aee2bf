import assert from 'node:assert/strict'
import { test } from 'node:test'
import { busAs } from '@guildhall/bus/testing'
import { REVOKED_BUCKET, REVOKED_COMPLETE } from '@guildhall/contracts/auth'
import { newId } from '@guildhall/service/id'
import { cleanUp, until } from '@guildhall/service/testing'
import { Kvm } from '@nats-io/kv'
import { readConfig } from '../config.ts'
import { start } from '../main.ts'
import { testAuth } from '../testing.ts'

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
  const bus = await busAs(t, { url: auth.settings.NATS_URL, peer: 'gateway' })
  const seen = new Map<string, number>()
  const entries = await (await new Kvm(bus.js).open(REVOKED_BUCKET)).watch()
  cleanUp(t, async () => entries.stop())
  void (async () => {
    for await (const { key, revision } of entries) seen.set(key, revision)
  })()

  const again = await start(readConfig(auth.settings)) // it finds them in the table
  cleanUp(t, async () => again[Symbol.asyncDispose]())
  const revisions = () => counting.map(({ jti }) => seen.get(jti) ?? Number.POSITIVE_INFINITY)
  await until(() => Math.max(...revisions()) < (seen.get(REVOKED_COMPLETE) ?? 0))
  assert.ok(!seen.has(over.jti))
})
