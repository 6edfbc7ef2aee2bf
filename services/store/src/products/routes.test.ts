import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getWallet } from '@guildhall/contracts/store-members'
import { checkout, getOrder, putOrder } from '@guildhall/contracts/store-orders'
import {
  createProduct,
  deleteProduct,
  getMemberStore,
  getStore,
  listProducts,
  putProduct,
} from '@guildhall/contracts/store-products'
import {
  anyone,
  at,
  inChat,
  madeMember,
  madeProduct,
  officer,
  site,
  type TestStore,
  testStore,
} from '../testing.ts'

const ADA = 'ada@example.org'
const idIn = (id: number, org = 1) => ({ params: { org: `org${org}`, id: String(id) } })

async function stocked(t: Parameters<typeof testStore>[0]) {
  const store = await testStore(t)
  await madeMember(store, ADA, 100)
  const product = await madeProduct(store, { price: 10, stock: 5 })
  const buy = (body: object = {}) =>
    store.as(site(ADA)).call(checkout, {
      ...at(),
      body: { items: [{ product_id: product.id, quantity: 2 }], ...body },
    })
  return { ...store, product, buy }
}
const balanceOf = async ({ as }: Pick<TestStore, 'as'>) => {
  const reply = await as(site(ADA)).call(getWallet, { params: { org: 'org1', email: ADA } })
  return reply.status === 200 ? reply.body.total_points : undefined
}

test('products are added, changed and removed, and orders keep what they were', async (t) => {
  const store = await stocked(t)
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
  assert.equal(await balanceOf(store), 100)
})
