import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Caller } from '@guildhall/contracts/caller'
import {
  listErrors,
  listOrgErrors,
  reopenErrors,
  reopenOrgErrors,
  resolveErrors,
  resolveOrgErrors,
} from '@guildhall/contracts/error-groups'
import { newId } from '@guildhall/service/id'
import { testOps } from '../testing.ts'
import { storeError } from './store.ts'
import { event } from './testing.ts'

const person = { chat_user_id: '12345', username: 'ada', token_id: 't', expires_at: 0 }
const officer: Caller = { kind: 'officer', superadmin: false, ...person }
const superadmin: Caller = { kind: 'superadmin', ...person, chat_user_id: '99999' }
const orgOf = (id: number) => ({
  ...{ id, prefix: `org${id}`, name: `Org ${id}`, modules: [], publisher: false },
})
/** `n` minutes after now: events are compared with the time at which a group was resolved. */
const inMinutes = (n: number) => new Date(Date.now() + n * 60_000).toISOString()

async function setUp(t: TestContext) {
  const ops = await testOps(t)
  const of = (id: number) => {
    const client = ops.as({ caller: officer, org: orgOf(id) })
    const params = { org: `org${id}` }
    return {
      async list(
        query: { status?: 'open' | 'resolved' | 'all'; cursor?: string; limit?: string } = {},
      ) {
        const reply = await client.call(listOrgErrors, { params, query })
        assert.equal(reply.status, 200)
        return reply.body
      },
      resolve: (ids: string[]) => client.call(resolveOrgErrors, { params, body: { ids } }),
      reopen: (ids: string[]) => client.call(reopenOrgErrors, { params, body: { ids } }),
    }
  }
  const audited = async () => {
    const all = ops.db.selectFrom('outbox').select('payload').where('stream', '=', 'AUDIT')
    const rows = await all.execute()
    return rows.map(({ payload }) => payload as Record<string, unknown>)
  }
  const store = (more: Parameters<typeof event>[0]) => storeError(ops.db, event(more))
  return { ...ops, of, store, audited, root: ops.as({ caller: superadmin }) }
}

test('an officer sees the errors of the org alone, open ones unless asked for others', async (t) => {
  const { of, store } = await setUp(t)
  await store({ message: 'ours' })
  await store({ message: 'resolved' })
  await store({ message: 'theirs', org_id: 2 })
  await store({ message: 'of the server', org_id: null })
  const { list, resolve } = of(1)
  const seen = async (status?: 'open' | 'resolved' | 'all') =>
    (await list(status && { status })).errors.map(({ message }) => message).sort()
  assert.deepEqual(await seen(), ['ours', 'resolved'])
  const group = (await list()).errors.find(({ message }) => message === 'resolved')
  assert.deepEqual((await resolve([String(group?.id)])).body, { resolved: 1 })
  assert.deepEqual(await seen(), ['ours'])
  assert.deepEqual(await seen('resolved'), ['resolved'])
  assert.deepEqual(await seen('all'), ['ours', 'resolved'])
  const [shown] = (await list({ status: 'resolved' })).errors
  assert.deepEqual([shown?.org, shown?.resolved_by], [1, '12345'])
  assert.ok(Date.now() - Date.parse(String(shown?.resolved_at)) < 60_000)
})

test('resolving and opening count what they changed, are audited once, and reach no other org', async (t) => {
  const { of, store, audited, root } = await setUp(t)
  await store({ message: 'one' })
  await store({ message: 'two' })
  const ids = (await of(1).list()).errors.map(({ id }) => id)
  assert.deepEqual((await of(2).resolve(ids)).body, { resolved: 0 })
  assert.deepEqual(await audited(), [])
  const at_once = await Promise.all(
    Array.from({ length: 10 }, () => of(1).resolve([...ids, newId()])),
  )
  assert.equal(
    at_once.reduce((sum, { body }) => sum + ('resolved' in body ? body.resolved : 0), 0),
    2,
  )
  assert.deepEqual((await of(2).reopen(ids)).body, { reopened: 0 })
  assert.deepEqual((await of(1).reopen(ids.slice(0, 1))).body, { reopened: 1 })
  assert.deepEqual((await root.call(reopenErrors, { body: { ids } })).body, { reopened: 1 })
  const lines = (await audited()).flatMap(({ action, org_id, actor_id, details }) =>
    (details as { ids: string[] }).ids.map(() => [action, org_id, actor_id]),
  )
  assert.deepEqual(
    lines.sort(),
    [
      ['ops.errors.reopened', 1, '12345'],
      ['ops.errors.reopened', null, '99999'],
      ['ops.errors.resolved', 1, '12345'],
      ['ops.errors.resolved', 1, '12345'],
    ].sort(),
  )
})

test('the superadmin resolves errors of no org too', async (t) => {
  const { store, root } = await setUp(t)
  await store({ org_id: null })
  const page = await root.call(listErrors, { query: {} })
  assert.ok(page.status === 200)
  const ids = page.body.errors.map(({ id }) => id)
  assert.deepEqual((await root.call(resolveErrors, { body: { ids } })).body, { resolved: 1 })
  const none = await root.call(listErrors, { query: {} })
  assert.deepEqual(none.body, { errors: [], next_cursor: null })
})

test('a resolved error is open again when it occurs again, and not for an event of before', async (t) => {
  const { of, store } = await setUp(t)
  await store({ created_at: inMinutes(-10) })
  const [group] = (await of(1).list()).errors
  await of(1).resolve([String(group?.id)])
  await store({ created_at: inMinutes(-5) })
  const [late] = (await of(1).list({ status: 'resolved' })).errors
  assert.equal(late?.count, 2)

  await Promise.all([1, 2, 3].map((n) => store({ created_at: inMinutes(n) })))
  const [open] = (await of(1).list()).errors
  assert.deepEqual([open?.id, open?.count], [group?.id, 5])
  assert.deepEqual([open?.resolved_at, open?.resolved_by], [null, null])
})

test('a cursor counts for the status that it was made for', async (t) => {
  const { of, store } = await setUp(t)
  for (const message of ['one', 'two', 'three']) await store({ message })
  const { next_cursor } = await of(1).list({ limit: '1' })
  const cursor = String(next_cursor)
  assert.equal((await of(1).list({ limit: '1', cursor })).errors.length, 1)
  await assert.rejects(of(1).list({ limit: '1', cursor, status: 'all' }))
  await assert.rejects(of(2).list({ limit: '1', cursor }))
})
