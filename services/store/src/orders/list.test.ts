import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deleteOrder, getOrder, listMyOrders, listOrders } from '@guildhall/contracts/store-orders'
import { getProduct } from '@guildhall/contracts/store-products'
import { sql } from 'kysely'
import {
  anyone,
  at,
  award,
  CHAT,
  codeOf,
  inChat,
  officer,
  type TestStore,
  testStore,
} from '../testing.ts'

/** Orders of the chat user, every third one cancelled. */
async function madeOrders(store: TestStore, count: number) {
  await award(store, CHAT, 1)
  await sql`
    insert into orders (org_id, membership, total_amount, status, created_at, updated_at)
    select 1, (select id from memberships), 1, case when n % 3 = 0 then 'cancelled' else 'pending' end, now(), now()
    from generate_series(1, ${count}::int) n
  `.execute(store.db)
}

test('a list of orders has a hundred, five hundred at most, and the older ones before an id', async (t) => {
  const store = await testStore(t)
  await madeOrders(store, 510)
  const list = async (query: { limit?: string; before?: string } = {}) => {
    const reply = await store.as(officer()).call(listOrders, { ...at(), query })
    assert.ok(reply.status === 200)
    return reply.body.map(({ id }) => id)
  }
  const first = await list()
  assert.equal(first.length, 100)
  assert.equal((await list({ limit: '500' })).length, 500)
  const next = await list({ before: String(first.at(-1)) })
  assert.deepEqual([next.length, next[0]], [100, (first.at(-1) ?? 0) - 1])
  assert.deepEqual(await list({ before: String(next[97]), limit: '2' }), next.slice(98))
  const mine = await store.as(inChat()).call(listMyOrders, at())
  assert.ok(mine.status === 200 && mine.body.length === 100)
  const tooMany = await store.as(officer()).call(listOrders, { ...at(), query: { limit: '501' } })
  assert.deepEqual(codeOf(tooMany), [400, 'request.invalid'])
})

test('a list of one status holds no other', async (t) => {
  const store = await testStore(t)
  await madeOrders(store, 9)
  for (const [status, count] of [
    ['cancelled', 3],
    ['pending', 6],
    ['shipped', 0],
  ] as const) {
    const reply = await store.as(officer()).call(listOrders, { ...at(), query: { status } })
    assert.ok(reply.status === 200)
    assert.deepEqual(
      reply.body.map((order) => order.status),
      Array(count).fill(status),
    )
  }
})

test('a number that no order can have is not found, and what is no number and no email says so', async (t) => {
  const store = await testStore(t)
  const by = store.as(officer())
  for (const id of ['0', '7', '2147483648', '99999999999', '9'.repeat(40)]) {
    const params = { org: 'org1', id }
    assert.deepEqual(codeOf(await by.call(getOrder, { params })), [404, 'order.not_found'], id)
    assert.deepEqual(codeOf(await by.call(deleteOrder, { params })), [404, 'order.not_found'], id)
    const product = await store.as(anyone()).call(getProduct, { params })
    assert.deepEqual(codeOf(product), [404, 'product.not_found'], id)
  }
  const wrong = await by.call(getOrder, { params: { org: 'org1', id: 'abc' } })
  assert.ok(wrong.status === 400)
  assert.match(JSON.stringify(wrong.body), /neither the number of an order nor an email address/)
})
