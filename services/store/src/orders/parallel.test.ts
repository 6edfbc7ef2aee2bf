import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assignPoints } from '@guildhall/contracts/points'
import { getWallet } from '@guildhall/contracts/store-members'
import { checkout, listMyOrders, placeMyOrder } from '@guildhall/contracts/store-orders'
import { getProduct, type Product } from '@guildhall/contracts/store-products'
import {
  anyone,
  at,
  award,
  inChat,
  madeMember,
  madeProduct,
  officer,
  site,
  testStore,
} from '../testing.ts'
import { checkBooks, heldPieces } from '../testing-books.ts'

const emails = Array.from({ length: 20 }, (_, n) => `member${n}@example.org`)

test('of 200 checkouts at once by 20 members on 5 scarce products each that is accepted is covered', async (t) => {
  const store = await testStore(t)
  for (const email of emails) await madeMember(store, email, 60)
  const products: Product[] = []
  for (let n = 0; n < 5; n++) products.push(await madeProduct(store, { price: 7 + n, stock: 12 }))

  const replies = await Promise.all(
    Array.from({ length: 200 }, (_, n) => {
      const [first, second] = [n % 5, (n * 3 + 1) % 5].map((index) => products[index]?.id ?? 0)
      const items = [...new Set([first, second])].map((id) => ({
        product_id: id ?? 0,
        quantity: 1 + (n % 2),
      }))
      const buyer = site(emails[n % 20] ?? '')
      return store.as(buyer).call(checkout, { ...at(), body: { items } })
    }),
  )
  const accepted = replies.flatMap((reply) => (reply.status === 201 ? [reply.body] : []))
  const codes = new Set(replies.flatMap((reply) => (reply.status === 201 ? [] : [reply.body.code])))
  for (const code of codes) assert.match(code, /^(points\.insufficient|product\.out_of_stock)$/)
  assert.ok(accepted.length > 20 && accepted.length < 200, `${accepted.length} accepted`)
  await checkBooks(store.db)

  const held = await heldPieces(store.db)
  for (const { id } of products) {
    const left = await store.as(anyone()).call(getProduct, { params: { org: 'org1', id: `${id}` } })
    assert.ok(left.status === 200)
    assert.equal(left.body.stock + (held.get(id) ?? 0), 12)
  }
  const spent = accepted.reduce((sum, { points_deducted }) => sum + points_deducted, 0)
  const wallets = await Promise.all(
    emails.map(async (email) => {
      const reply = await store.as(site(email)).call(getWallet, { params: { org: 'org1', email } })
      return reply.status === 200 ? reply.body.total_points : Number.NaN
    }),
  )
  assert.equal(wallets.reduce((sum, points) => sum + points) + spent, 20 * 60)
})

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
  assert.equal(replies.filter(({ status }) => status === 201).length, 3)
  for (const reply of replies)
    if (reply.status !== 201)
      assert.deepEqual([reply.status, reply.body.code], [409, 'points.insufficient'])
  await checkBooks(store.db)
})
