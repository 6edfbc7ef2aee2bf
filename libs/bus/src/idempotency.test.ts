import assert from 'node:assert/strict'
import { test } from 'node:test'
import { putOrgSettings } from '@guildhall/contracts/orgs'
import { AppError } from '@guildhall/service/errors'
import { oncePerKey } from './idempotency.ts'
import { testOutbox } from './testing.ts'

const person = (chat_user_id: string) => ({
  kind: 'platform' as const,
  chat_user_id,
  username: 'x',
  token_id: 'x',
  expires_at: 0,
})
const caller = person('12345')
const route = putOrgSettings

/** Sends a write that counts how often it ran. */
async function counter(t: Parameters<typeof testOutbox>[0]) {
  const db = await testOutbox(t)
  let runs = 0
  const params = { org_id: 1 }
  const send = (
    idempotency_key: string | undefined,
    body: unknown = { n: 1 },
    by = caller,
    fail = false,
  ) =>
    db.transaction().execute((trx) =>
      oncePerKey(trx, { route, caller: by, idempotency_key, params, query: {}, body }, async () => {
        runs += 1
        if (fail) throw new AppError('conflict', 'test.refused', 'no')
        return { run: runs }
      }),
    )
  return { db, params, send, runs: () => runs }
}

test('of ten who send one key at once one runs, and all get its answer', async (t) => {
  const { send, runs } = await counter(t)
  const answers = await Promise.all(Array.from({ length: 5 }, () => send('k')))
  answers.push(...(await Promise.all(Array.from({ length: 5 }, () => send('k')))))
  assert.deepEqual(answers, new Array(10).fill({ run: 1 }))
  assert.equal(runs(), 1)
})

test('another key, another caller and no key run again', async (t) => {
  const { send, runs } = await counter(t)
  await send('k')
  await send('other')
  await send('k', { n: 1 }, person('67890'))
  await send(undefined)
  await send(undefined)
  assert.equal(runs(), 5)
})

test('the same key with another body is refused', async (t) => {
  const { send } = await counter(t)
  await send('k')
  await assert.rejects(send('k', { n: 2 }), { code: 'idempotency.other_body', kind: 'conflict' })
})

test('a refusal is not kept', async (t) => {
  const { send, runs } = await counter(t)
  await assert.rejects(send('k', { n: 1 }, caller, true), { code: 'test.refused' })
  assert.deepEqual(await send('k'), { run: 2 })
  assert.equal(runs(), 2)
})

test('the same key for another org is refused, and a day later it is free', async (t) => {
  const { db, params, send, runs } = await counter(t)
  await send('k')
  params.org_id = 2
  await assert.rejects(send('k'), { code: 'idempotency.other_body' })
  await db
    .updateTable('idempotency_keys')
    .set({ created_at: new Date(Date.now() - 25 * 3_600_000) })
    .execute()
  await send('k')
  assert.equal(runs(), 2)
})
