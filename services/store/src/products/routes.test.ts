import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getOrder, putOrder } from '@guildhall/contracts/store-orders'
import {
  createProduct,
  deleteProduct,
  getMemberStore,
  getStore,
  listProducts,
  putProduct,
} from '@guildhall/contracts/store-products'
import { anyone, at, balanceOf, idIn, inChat, officer, stocked } from '../testing.ts'

const ADA = 'ada@example.org'

test('products are added, changed and removed, and orders keep what they were', async (t) => {
  const store = await stocked(t, ADA)
  const by = store.as(officer())
  const empty = { name: 'None', price: 1, stock: 0 }
  assert.equal((await by.call(createProduct, { ...at(), body: empty })).status, 400)
  const placed = await store.buy({ items: [{ product_id: store.product.id, quantity: 5 }] })
  assert.ok(placed.status === 201)
  const sold = await store.as(anyone()).call(getStore, at())
  assert.deepEqual(sold.status === 200 && sold.body.products, [])
  await by.call(putProduct, {
    ...idIn(store.product.id),
    body: { price: 99, name: 'Cup', stock: 1 },
  })
  const members = await store.as(inChat()).call(getMemberStore, at())
  assert.ok(members.status === 200 && members.body.products[0]?.price === 99)
  for (const org of [2, 1]) {
    const status = org === 1 ? 200 : 404
    assert.equal(
      (await store.as(officer(org)).call(deleteProduct, idIn(store.product.id, org))).status,
      status,
    )
  }
  assert.deepEqual((await store.as(anyone()).call(listProducts, at())).body, [])
  assert.equal(
    (await by.call(putProduct, { ...idIn(store.product.id), body: { price: 1 } })).status,
    404,
  )
  const kept = await by.call(getOrder, idIn(placed.body.id))
  assert.deepEqual(kept.body, placed.body.order)
  const cancelled = await by.call(putOrder, {
    ...idIn(placed.body.id),
    body: { status: 'cancelled' },
  })
  assert.equal(cancelled.status, 200)
  assert.equal(await balanceOf(store, ADA), 100)
})
