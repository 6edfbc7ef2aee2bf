import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assignPoints } from '@guildhall/contracts/points'
import { getWallet } from '@guildhall/contracts/store-members'
import {
  checkout,
  listMyOrders,
  type Placed,
  placeMyOrder,
} from '@guildhall/contracts/store-orders'
import { getProduct, type Product } from '@guildhall/contracts/store-products'
import {
  anyone,
  at,
  award,
  idIn,
  inChat,
  madeMember,
  madeProduct,
  officer,
  site,
  testStore,
} from '../testing.ts'
import { checkBooks, heldPieces } from '../testing-books.ts'
import { storeProcess } from '../testing-process.ts'

const emails = Array.from({ length: 20 }, (_, n) => `member${n}@example.org`)
const [POINTS, STOCK] = [40, 10]

test('of 200 checkouts at once by 20 members on 5 scarce products each that is accepted is covered', async (t) => {
  const store = await testStore(t)
  for (const email of emails) await madeMember(store, email, POINTS)
  const products: Product[] = []
  for (let n = 0; n < 5; n++)
    products.push(await madeProduct(store, { price: 7 + n, stock: STOCK }))
  const processes = [await storeProcess(t, store), await storeProcess(t, store)]

  // ten of each member, half of them to each process: neither points nor pieces are enough for all
  const replies = await Promise.all(
    Array.from({ length: 200 }, async (_, n) => {
      const ids = new Set([n % 5, (n * 3 + 1) % 5].map((index) => products[index]?.id ?? 0))
      const items = [...ids].map((product_id) => ({ product_id, quantity: 1 }))
      const { as } = processes[Math.floor(n / 20) % 2] ?? store
      return as(site(emails[n % 20] ?? '')).call(checkout, { ...at(), body: { items } })
    }),
  )
  const accepted = replies.flatMap((reply) => (reply.status === 201 ? [reply.body] : []))
  const codes = new Set(replies.flatMap((reply) => (reply.status === 201 ? [] : [reply.body.code])))
  assert.deepEqual([...codes].sort(), ['points.insufficient', 'product.out_of_stock'])
  checkBalances(accepted)
  await checkBooks(store.db)

  const held = await heldPieces(store.db)
  for (const { id } of products) {
    const left = await store.as(anyone()).call(getProduct, idIn(id))
    assert.ok(left.status === 200)
    assert.equal(left.body.stock + (held.get(id) ?? 0), STOCK)
  }
  const spent = accepted.reduce((sum, { points_deducted }) => sum + points_deducted, 0)
  const wallets = await Promise.all(
    emails.map(async (email) => {
      const reply = await store.as(site(email)).call(getWallet, { params: { org: 'org1', email } })
      return reply.status === 200 ? reply.body.total_points : Number.NaN
    }),
  )
  assert.equal(wallets.reduce((sum, points) => sum + points) + spent, 20 * POINTS)
})

/** Every answer says what was left of a member's points after that order and those before it. */
function checkBalances(accepted: Placed[]) {
  const left = new Map<string, number>()
  for (const { order, points_deducted, balance } of accepted.toSorted((a, b) => a.id - b.id)) {
    const before = left.get(order.user_id) ?? POINTS
    assert.equal(balance, before - points_deducted, `order ${order.id}`)
    left.set(order.user_id, balance)
  }
}

test('one Idempotency-Key sent ten times at once charges once, and with another order is refused', async (t) => {
  const store = await testStore(t)
  await award(store, '20002', 100)
  const { id } = await madeProduct(store, { price: 10, stock: 50 })
  const buyer = store.as(inChat(), { 'idempotency-key': 'key-1' })
  const buy = (quantity = 1) =>
    buyer.call(placeMyOrder, { ...at(), body: { items: [{ product_id: id, quantity }] } })
  const replies = await Promise.all(Array.from({ length: 10 }, () => buy()))
  const [first] = replies
  assert.ok(first?.status === 201)
  assert.equal(first.body.balance, 90)
  for (const reply of replies) assert.deepEqual(reply, first)
  const other = await buy(2)
  assert.deepEqual(
    [other.status, 'code' in other.body && other.body.code],
    [409, 'idempotency.other_body'],
  )
  const orders = await store.as(inChat()).call(listMyOrders, at())
  assert.ok(orders.status === 200)
  assert.equal(orders.body.length, 1)
  await checkBooks(store.db)
})

test('points are taken back only as far as they are there, also by ten officers at once', async (t) => {
  const store = await testStore(t)
  await award(store, '20002', 30)
  const take = () =>
    store.as(officer()).call(assignPoints, {
      ...at(),
      body: { chat_user_id: '20002', points: -10, event: 'Mistake' },
    })
  const replies = await Promise.all(Array.from({ length: 10 }, take))
  const left = replies.flatMap((reply) => (reply.status === 201 ? [reply.body.total_points] : []))
  assert.deepEqual(
    left.sort((a, b) => b - a),
    [20, 10, 0],
  )
  for (const reply of replies)
    if (reply.status !== 201)
      assert.deepEqual([reply.status, reply.body.code], [409, 'points.insufficient'])
  await checkBooks(store.db)
})
