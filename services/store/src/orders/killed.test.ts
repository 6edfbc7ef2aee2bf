import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkout, listOrders } from '@guildhall/contracts/store-orders'
import type { Product } from '@guildhall/contracts/store-products'
import { at, madeMember, madeProduct, officer, site, testStore } from '../testing.ts'
import { checkBooks, heldPieces } from '../testing-books.ts'
import { storeProcess } from '../testing-process.ts'

const emails = Array.from({ length: 20 }, (_, n) => `member${n}@example.org`)
const STOCK = 8
const ALL = 5 * STOCK
const PRICE = 5

test('a store killed amid 200 checkouts of 5 scarce products keeps what it acknowledged, and the same keys charge nothing twice', async (t) => {
  const store = await testStore(t)
  // half of them can pay one piece, the others more than there are
  for (const [n, email] of emails.entries())
    await madeMember(store, email, n % 2 ? ALL * PRICE : PRICE)
  const products: Product[] = []
  for (let n = 0; n < 5; n++)
    products.push(await madeProduct(store, { price: PRICE, stock: STOCK }))
  const first = await storeProcess(t, store)
  // the ten orders of a member one after the other, so that they meet
  const buy = (as: typeof store.as, n: number) =>
    as(site(emails[Math.floor(n / 10)] ?? ''), { 'idempotency-key': `order-${n}` }).call(checkout, {
      ...at(),
      body: { items: [{ product_id: products[n % 5]?.id ?? 0, quantity: 1 }] },
    })

  let sold = 0
  const asked = Array.from({ length: 200 }, (_, n) =>
    buy(first.as, n).then(
      (reply) => {
        if (reply.status === 201) sold += 1
        if (sold === 15) void first.kill()
        return reply
      },
      () => undefined,
    ),
  )
  const before = await Promise.all(asked)
  const acknowledged = before.flatMap((reply) => (reply?.status === 201 ? [reply.body.id] : []))
  assert.ok(acknowledged.length >= 15 && acknowledged.length < ALL, `${acknowledged.length} before`)
  const orders = await store.as(officer()).call(listOrders, { ...at(), query: { limit: '500' } })
  assert.ok(orders.status === 200)
  const kept = new Set(orders.body.map(({ id }) => id))
  for (const id of acknowledged) assert.ok(kept.has(id), `order ${id} is lost`)
  await checkBooks(store.db)

  const second = await storeProcess(t, store)
  const again = await Promise.all(Array.from({ length: 200 }, (_, n) => buy(second.as, n)))
  for (const [n, earlier] of before.entries())
    if (earlier?.status === 201) assert.deepEqual(again[n]?.body, earlier.body)
  const codes = new Set(again.flatMap((reply) => (reply.status === 201 ? [] : [reply.body.code])))
  assert.deepEqual([...codes].sort(), ['points.insufficient', 'product.out_of_stock'])
  assert.equal(again.filter(({ status }) => status === 201).length, ALL)
  await checkBooks(store.db)
  const held = await heldPieces(store.db)
  assert.deepEqual(
    products.map(({ id }) => held.get(id)),
    products.map(() => STOCK),
  )
})
