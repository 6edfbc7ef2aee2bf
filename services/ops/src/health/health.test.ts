import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import { getHealth, readinessOf } from '@guildhall/contracts/ops'
import { z } from 'zod'
import { testOps } from '../testing.ts'

test('the health names who is ready, who waits for what and who does not answer', async (t) => {
  const { as, settings } = await testOps(t)
  const auth = await busAs(t, { url: settings.NATS_URL, peer: 'auth' })
  answer(auth, readinessOf('auth'), async () => ({ missing: ['postgres: it is away'] }))
  const knowledge = await busAs(t, { url: settings.NATS_URL, peer: 'knowledge' })
  const ofAnother = { ...readinessOf('knowledge'), reply: z.object({ other: z.string() }) }
  answer(knowledge, ofAnother, async () => ({ other: 'of another revision' }))
  await Promise.all([auth.nats.flush(), knowledge.nats.flush()])
  const caller = {
    kind: 'superadmin' as const,
    chat_user_id: '10001',
    username: 'root',
    token_id: 'jti',
    expires_at: 4_000_000_000,
  }
  const reply = await as({ caller }).call(getHealth, {})
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  const by = new Map(reply.body.services.map((one) => [one.service, one]))
  assert.equal(reply.body.status, 'degraded')
  assert.deepEqual(by.get('ops'), { service: 'ops', status: 'ready', missing: [] })
  assert.deepEqual(by.get('auth'), {
    service: 'auth',
    status: 'waiting',
    missing: ['postgres: it is away'],
  })
  assert.deepEqual(by.get('knowledge')?.missing, ['knowledge answers in another way'])
  assert.equal(by.get('store')?.status, 'silent')
})
