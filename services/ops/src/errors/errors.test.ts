import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import { listErrors } from '@guildhall/contracts/error-groups'
import type { ErrorEvent } from '@guildhall/contracts/event'
import { purgeOrgOf } from '@guildhall/contracts/orgs'
import { newId } from '@guildhall/service/id'
import { until } from '@guildhall/service/testing'
import { storeAudit } from '../audit/store.ts'
import { testOps } from '../testing.ts'
import { firstFrameOfOurs } from './rules.ts'
import { storeError } from './store.ts'
import { event, STACK as stack } from './testing.ts'

async function setUp(t: TestContext) {
  const ops = await testOps(t)
  const caller = {
    kind: 'superadmin',
    chat_user_id: '12345',
    username: 'ada',
    token_id: 't',
    expires_at: 0,
  } as const
  const list = async (query: { limit?: string; cursor?: string } = {}) => {
    const reply = await ops.as({ caller }).call(listErrors, { query })
    assert.equal(reply.status, 200)
    return reply.body
  }
  return { ...ops, list }
}

test('a purge of an org deletes its errors and keeps its audit lines', async (t) => {
  const { db, settings, list } = await setUp(t)
  await storeError(db, event({ org_id: 1 }))
  await storeError(db, event({ org_id: 2 }))
  await storeError(db, event({ org_id: null }))
  const id = newId()
  const actor = { source: 'http', actor_kind: 'officer', actor_id: '12345' }
  const line = { id, created_at: '2031-01-01T00:00:00.000Z', action: 'auth.org.created', ...actor }
  await storeAudit(db, { ...line, org_id: 1, status: null, details: {} })
  const auth = await busAs(t, { url: settings.NATS_URL, peer: 'auth' })
  for (let n = 0; n < 2; n++) await ask(auth, purgeOrgOf('ops'), { org_id: 1 })
  const { errors } = await list()
  assert.deepEqual(errors.map(({ org }) => org).sort(), [2, null])
  const lines = await db.selectFrom('audit_entries').select('id').execute()
  assert.deepEqual(lines, [{ id }])
})

test('errors that differ in ids and numbers alone are one group', async (t) => {
  const { db, list } = await setUp(t)
  await storeError(db, event({ message: `Order 17 of ${newId()} failed after 3.5 s` }))
  await storeError(
    db,
    event({ message: `Order 8012 of ${newId().toUpperCase()} failed after 12.25 s` }),
  )
  const { errors } = await list()
  assert.deepEqual(
    errors.map(({ count, location }) => [count, location]),
    [[2, 'services/auth/src/orgs/queries.ts:12']],
  )
})

test('errors of another service, org, kind, place or text are groups of their own', async (t) => {
  const { db, list } = await setUp(t)
  const others: Partial<ErrorEvent>[] = [
    {},
    { service: 'ops' },
    { org_id: 2 },
    { org_id: null },
    { kind: 'RangeError' },
    { message: 'it broke again' },
    { stack: stack.replace('queries.ts:12', 'queries.ts:13') },
    { stack: null },
  ]
  for (const other of others) await storeError(db, event(other))
  const { errors } = await list()
  assert.equal(errors.length, others.length)
  assert.ok(errors.every(({ count }) => count === 1))
})

test('an event that is delivered twice counts once, and ten at once count ten', async (t) => {
  const { db, settings, list } = await setUp(t)
  const auth = await busAs(t, { url: settings.NATS_URL, peer: 'auth' })
  const sent = Array.from({ length: 10 }, () => event())
  await Promise.all([...sent, ...sent].map((one) => storeError(db, one)))
  assert.equal((await list()).errors[0]?.count, 10)

  for (const one of [sent[0], sent[1], event({ message: 'the last' })]) {
    await auth.js.publish('errors.auth', JSON.stringify(one), { msgID: newId() })
  }
  await until(async () => (await list()).errors.length === 2)
  assert.deepEqual((await list()).errors.map(({ count }) => count).sort(), [1, 10])
})

test('a group keeps its first and last time, in whatever order events come', async (t) => {
  const { db, list } = await setUp(t)
  for (const day of [2, 3, 1]) {
    await storeError(db, event({ created_at: `2031-01-0${day}T00:00:00.000Z` }))
  }
  const [group] = (await list()).errors
  assert.deepEqual(
    [group?.count, group?.first_seen, group?.last_seen],
    [3, '2031-01-01T00:00:00.000Z', '2031-01-03T00:00:00.000Z'],
  )
})

test('pages go through every group once, the latest first', async (t) => {
  const { db, list } = await setUp(t)
  const names = ['a', 'b', 'c', 'd', 'e']
  for (const [i, message] of names.entries()) {
    const day = Math.floor(i / 2) + 1 // pairs of the same moment
    await storeError(db, event({ message, created_at: `2031-01-0${day}T00:00:00.000Z` }))
  }
  const seen: string[] = []
  let cursor: string | undefined
  do {
    const page = await list({ limit: '1', ...(cursor && { cursor }) })
    seen.push(...page.errors.map(({ message }) => message))
    cursor = page.next_cursor ?? undefined
  } while (cursor)
  assert.deepEqual(seen.toSorted(), names)
  assert.equal(seen[0], 'e')
})

test('a place is the first line of a stack that is ours', () => {
  assert.equal(firstFrameOfOurs(stack), 'services/auth/src/orgs/queries.ts:12')
  assert.equal(
    firstFrameOfOurs('at x (/tmp/a.ts:1:2)\n at y (/a/libs/bus/src/b.ts:3:4)'),
    'libs/bus/src/b.ts:3',
  )
  assert.equal(
    firstFrameOfOurs('at x (/srv/node_modules/z/libs/core.ts:1:2)\n at y (/a/libs/b.ts:3:4)'),
    'libs/b.ts:3',
  )
  assert.equal(firstFrameOfOurs('Error: libs/ are fine\n at node:fs:1:2'), null)
  assert.equal(firstFrameOfOurs(null), null)
})
