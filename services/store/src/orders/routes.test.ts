import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getMyPoints } from '@guildhall/contracts/store-members'
import {
  cancelMyOrder,
  checkout,
  deleteOrder,
  getOrder,
  listMyOrders,
  listOrders,
  type OrderStatus,
  orderChanged,
  placeMyOrder,
  putOrder,
} from '@guildhall/contracts/store-orders'
import { getProduct, putProduct } from '@guildhall/contracts/store-products'
import { until } from '@guildhall/service/testing'
import { sql } from 'kysely'
import {
  anyone,
  at,
  award,
  balanceOf,
  CHAT,
  codeOf,
  idIn,
  inChat,
  madeProduct,
  officer,
  platform,
  site,
  stocked,
  type TestStore,
} from '../testing.ts'
import { checkBooks, somebodyWaits } from '../testing-books.ts'

const ADA = 'ada@example.org'
const stockOf = async ({ as }: Pick<TestStore, 'as'>, id: number) => {
  const reply = await as(anyone()).call(getProduct, idIn(id))
  return reply.status === 200 ? reply.body.stock : undefined
}

test('a checkout costs what the catalog says, and answers the order and what is left', async (t) => {
  const store = await stocked(t, ADA)
  const placed = await store.buy({ message: 'size M', total_amount: 20 })
  assert.ok(placed.status === 201)
  const { id, order, points_deducted, balance } = placed.body
  assert.deepEqual(
    [points_deducted, balance, order.status, order.message],
    [20, 80, 'pending', 'size M'],
  )
  assert.deepEqual(order.items, [
    { product_id: store.product.id, product_name: 'Mug', quantity: 2, price_at_time: 10 },
  ])
  assert.equal(await stockOf(store, store.product.id), 3)
  const shown = await store.as(officer()).call(getOrder, idIn(id))
  assert.deepEqual(shown.body, order)
  const mine = await store.as(site(ADA)).call(getOrder, { params: { org: 'org1', id: ADA } })
  assert.deepEqual(mine.body, [order])
  store.linked.set('20008', ADA)
  const linked = await store.as(platform('20008')).call(checkout, {
    ...at(),
    body: { items: [{ product_id: store.product.id, quantity: 1 }] },
  })
  assert.ok(linked.status === 201 && linked.body.balance === 70)
  await checkBooks(store.db)
})

test('what cannot be sold is refused, and nothing is written', async (t) => {
  const store = await stocked(t, ADA)
  const id = store.product.id
  const dear = await madeProduct(store, { price: 1000 })
  const foreign = await madeProduct(store, { org: 2 })
  const items = (...list: [number, number, number?][]) => ({
    items: list.map(([product_id, quantity, price]) => ({
      product_id,
      quantity,
      ...(price && { price }),
    })),
  })
  const refused = [
    [{ items: [] }, 400, 'request.invalid'],
    [items([id, 0]), 400, 'request.invalid'],
    [items([id, 1], [id, 1]), 400, 'request.invalid'],
    [items([id, 6]), 409, 'product.out_of_stock'],
    [items([dear.id, 1]), 409, 'points.insufficient'],
    [items([foreign.id, 1]), 404, 'product.not_found'],
    [items([id, 1, 9]), 409, 'checkout.price_mismatch'],
    [{ ...items([id, 1]), total_amount: 1 }, 409, 'checkout.price_mismatch'],
  ] as const
  for (const [body, status, code] of refused)
    assert.deepEqual(codeOf(await store.buy(body)), [status, code])
  assert.deepEqual([await balanceOf(store, ADA), await stockOf(store, id)], [100, 5])
  const orders = await store.as(officer()).call(listOrders, at())
  assert.deepEqual(orders.body, [])
})

test('in report mode other prices are let through, and the catalog’s are charged', async (t) => {
  const store = await stocked(t, ADA, { ACCESS_ENFORCE: 'false' })
  const placed = await store.buy({ total_amount: 1 })
  assert.ok(placed.status === 201)
  assert.equal(placed.body.points_deducted, 20)
})

const MOVES: [OrderStatus[], OrderStatus, boolean][] = [
  [[], 'processing', true],
  [[], 'shipped', false],
  [[], 'cancelled', true],
  [['processing'], 'cancelled', true],
  [['processing'], 'shipped', true],
  [['processing', 'shipped'], 'cancelled', false],
  [['processing', 'shipped'], 'delivered', true],
  [['processing', 'shipped', 'delivered'], 'cancelled', false],
  [['cancelled'], 'pending', false],
]
test('an order moves as it may and gives back what a cancelled one cost, once', async (t) => {
  const store = await stocked(t, ADA)
  const by = store.as(officer())
  for (const [before, to, allowed] of MOVES) {
    const placed = await store.buy()
    assert.ok(placed.status === 201)
    const { id } = placed.body
    for (const status of before) await by.call(putOrder, { ...idIn(id), body: { status } })
    const moved = await by.call(putOrder, { ...idIn(id), body: { status: to, message: 'hi' } })
    const where = `${before.at(-1) ?? 'pending'} to ${to}`
    assert.deepEqual(codeOf(moved), allowed ? [200, undefined] : [409, 'order.status'], where)
    await by.call(deleteOrder, { ...idIn(id), query: { refund: 'true' } })
    assert.equal((await by.call(getOrder, idIn(id))).status, 404)
    assert.equal(await balanceOf(store, ADA), 100, where)
    await checkBooks(store.db)
    const { stock } =
      (await store.db.selectFrom('products').select('stock').executeTakeFirst()) ?? {}
    await by.call(putProduct, { ...idIn(store.product.id), body: { stock: 5 } })
    assert.equal(
      stock,
      ['shipped', 'delivered'].some((out) =>
        [...before, ...(allowed ? [to] : [])].includes(out as OrderStatus),
      )
        ? 3
        : 5,
      where,
    )
  }
})

test('ten cancels at once give back once', async (t) => {
  const store = await stocked(t, ADA)
  await award(store, CHAT, 50)
  const body = { items: [{ product_id: store.product.id, quantity: 1 }] }
  const placed = await store.as(inChat()).call(placeMyOrder, { ...at(), body })
  assert.ok(placed.status === 201)
  const cancel = (who = inChat()) =>
    store.as(who).call(cancelMyOrder, { ...idIn(placed.body.id), body: {} })
  assert.deepEqual(codeOf(await cancel(inChat('20009'))), [404, 'order.not_found'])
  const officers = () =>
    store.as(officer()).call(putOrder, { ...idIn(placed.body.id), body: { status: 'cancelled' } })
  const replies = await Promise.all(
    Array.from({ length: 10 }, (_, n) => (n % 2 ? cancel() : officers())),
  )
  assert.ok(replies.some(({ status }) => status === 200))
  for (const { status } of replies) assert.ok(status === 200 || status === 409)
  assert.equal(await stockOf(store, store.product.id), 5)
  const orders = await store.as(inChat()).call(listMyOrders, at())
  assert.ok(orders.status === 200)
  assert.deepEqual(
    orders.body.map(({ status }) => status),
    ['cancelled'],
  )
  await checkBooks(store.db)
})

test('a member cancels only what is pending, and an order that goes on keeps its points', async (t) => {
  const store = await stocked(t, ADA)
  await award(store, CHAT, 50)
  const body = { items: [{ product_id: store.product.id, quantity: 1 }] }
  const placed = await store.as(inChat()).call(placeMyOrder, { ...at(), body })
  assert.ok(placed.status === 201)
  const { id } = placed.body
  const by = store.as(officer())
  await by.call(putOrder, { ...idIn(id), body: { status: 'processing' } })
  const refused = await store.as(inChat()).call(cancelMyOrder, { ...idIn(id), body: {} })
  assert.deepEqual(codeOf(refused), [409, 'order.status'])
  const points = await store.as(inChat()).call(getMyPoints, at())
  assert.ok(points.status === 200)
  assert.deepEqual([points.body.total_points, await stockOf(store, store.product.id)], [40, 4])
})

test('what an order is already is not written again', async (t) => {
  const store = await stocked(t, ADA)
  const placed = await store.buy()
  assert.ok(placed.status === 201)
  const put = () =>
    store.as(officer()).call(putOrder, {
      ...idIn(placed.body.id),
      body: { status: 'cancelled', message: 'Sorry' },
    })
  const replies = [await put(), await put()]
  assert.deepEqual(replies[0], replies[1])
  const lines = await store.db
    .selectFrom('outbox')
    .select(sql<string>`payload ->> 'action'`.as('action'))
    .where('stream', '=', 'AUDIT')
    .execute()
  assert.equal(lines.filter(({ action }) => action === orderChanged.action).length, 1)
})

test('a price that changes meanwhile is charged as it is when the product is locked', async (t) => {
  const store = await stocked(t, ADA)
  const { id } = store.product
  const items = [{ product_id: id, quantity: 1 }]
  const prices = Array.from({ length: 10 }, (_, n) => 1 + n)
  const [replies] = await Promise.all([
    Promise.all(prices.map(() => store.buy({ items }))),
    Promise.all(
      prices.map((price) =>
        store.as(officer()).call(putProduct, { ...idIn(id), body: { price, stock: 10 } }),
      ),
    ),
  ])
  for (const reply of replies)
    if (reply.status !== 201) assert.equal(reply.body.code, 'product.out_of_stock')
  await checkBooks(store.db)
})

test('a checkout that waits for a new price is charged it, and is not refused', async (t) => {
  const store = await stocked(t, ADA)
  const { db } = store
  const [buying] = await db.transaction().execute(async (trx) => {
    await trx.updateTable('products').set({ price: 25 }).execute()
    const started = [store.buy()]
    await until(() => somebodyWaits(db))
    return started
  })
  const placed = await buying
  assert.ok(placed?.status === 201)
  assert.deepEqual([placed.body.points_deducted, placed.body.balance], [50, 50])
})

test('a removed order gives nothing back unless it is asked', async (t) => {
  const store = await stocked(t, ADA)
  const by = store.as(officer())
  for (const [refund, refunded, balance] of [
    ['false', 0, 80],
    ['true', 20, 80],
  ] as const) {
    const placed = await store.buy()
    assert.ok(placed.status === 201)
    const gone = await by.call(deleteOrder, { ...idIn(placed.body.id), query: { refund } })
    assert.deepEqual(gone.body, { deleted: true, refunded })
    assert.equal(await balanceOf(store, ADA), balance)
    assert.equal((await by.call(deleteOrder, idIn(placed.body.id))).status, 404)
  }
  await checkBooks(store.db)
})

test('orders come in parts where a client asks for them', async (t) => {
  const store = await stocked(t, ADA)
  for (let n = 0; n < 3; n++)
    await store.buy({ items: [{ product_id: store.product.id, quantity: 1 }] })
  const by = store.as(officer())
  const first = await by.call(listOrders, { ...at(), query: { limit: '2' } })
  assert.ok(first.status === 200)
  const before = String(first.body.at(-1)?.id)
  const rest = await by.call(listOrders, { ...at(), query: { before, status: 'pending' } })
  assert.ok(rest.status === 200)
  assert.deepEqual([first.body.length, rest.body.length], [2, 1])
  assert.deepEqual((await store.as(officer(2)).call(listOrders, at(2))).body, [])
})
