import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getImport } from '@guildhall/contracts/point-imports'
import {
  assignPoints,
  deletePoints,
  getUserPoints,
  listPointsUsers,
  putPointsUser,
} from '@guildhall/contracts/points'
import { routes } from '@guildhall/contracts/routes'
import { memberLogin } from '@guildhall/contracts/store-members'
import {
  cancelMyOrder,
  checkout,
  deleteOrder,
  getOrder,
  listOrders,
  placeMyOrder,
  putOrder,
} from '@guildhall/contracts/store-orders'
import { deleteProduct, getProduct, putProduct } from '@guildhall/contracts/store-products'
import {
  anyone,
  at,
  CHAT,
  idIn,
  inChat,
  madeMember,
  madeProduct,
  officer,
  site,
  type TestStore,
  testStore,
} from '../testing.ts'
import { imported } from '../testing-imports.ts'

const ADA = 'ada@example.org'
const FILE = `Email,Checked-In Date\n${ADA},2026-10-01`

/** What org 1 has of everything that can be named, and org 2 has nothing of. */
async function belongings(store: TestStore) {
  const { id: member } = await madeMember(store, ADA, 50)
  const login = { email: ADA, username: 'ada' }
  await store.as(site(ADA)).call(memberLogin, { ...at(), body: login })
  const product = await madeProduct(store, { price: 5 })
  const items = [{ product_id: product.id, quantity: 1 }]
  const order = await store.as(site(ADA)).call(checkout, { ...at(), body: { items } })
  assert.ok(order.status === 201)
  await imported(store, FILE, { event: 'Talk' })
  const { id } = await store.db.selectFrom('imports').select('id').executeTakeFirstOrThrow()
  return { member, product: product.id, order: order.body.id, import: id, items }
}

/** All that the org's officers could see. */
const rowsOf = async ({ db }: TestStore) => {
  const tables = ['memberships', 'ledger', 'orders', 'products', 'imports'] as const
  return Promise.all(
    tables.map((table) => db.selectFrom(table).selectAll().orderBy('id').execute()),
  )
}

/** Nobody else can lock a row while `work` runs: who tries waits, and fails after half a minute. */
const whileLocked = ({ db }: TestStore, work: () => Promise<void>) =>
  db.transaction().execute(async (trx) => {
    for (const table of ['memberships', 'orders', 'products'] as const)
      await trx.selectFrom(table).select('id').forUpdate().execute()
    await work()
  })

test('nothing of another org can be seen, locked or changed, by any route that names a thing', async (t) => {
  const store = await testStore(t)
  const own = await belongings(store)
  const before = await rowsOf(store)
  const by = store.as(officer(2))
  const [order, product] = [idIn(own.order, 2), idIn(own.product, 2)]
  const users = [own.member, ADA, 'ada'].map((identifier) => ({
    params: { org: 'org2', identifier },
  }))
  const award = { user_identifier: own.member, points: 1, event: 'Talk' }
  const tried = [
    ...users.map((user) => [getUserPoints, () => by.call(getUserPoints, user)] as const),
    ...users.map(
      (user) =>
        [putPointsUser, () => by.call(putPointsUser, { ...user, body: { name: 'X' } })] as const,
    ),
    [assignPoints, () => by.call(assignPoints, { ...at(2), body: award })],
    [
      deletePoints,
      () => by.call(deletePoints, { ...at(2), body: { event: 'Talk', user_email: ADA } }),
    ],
    [getImport, () => by.call(getImport, { params: { org: 'org2', job_id: own.import } })],
    [getProduct, () => store.as(anyone(2)).call(getProduct, product)],
    [putProduct, () => by.call(putProduct, { ...product, body: { price: 1 } })],
    [deleteProduct, () => by.call(deleteProduct, product)],
    [getOrder, () => by.call(getOrder, order)],
    [putOrder, () => by.call(putOrder, { ...order, body: { status: 'cancelled' } })],
    [deleteOrder, () => by.call(deleteOrder, order)],
    [deleteOrder, () => by.call(deleteOrder, { ...order, query: { refund: 'true' } })],
    [cancelMyOrder, () => store.as(inChat(CHAT, 2)).call(cancelMyOrder, { ...order, body: {} })],
    [checkout, () => store.as(site(ADA, 2)).call(checkout, { ...at(2), body: own })],
    [placeMyOrder, () => store.as(inChat(CHAT, 2)).call(placeMyOrder, { ...at(2), body: own })],
  ] as const
  await whileLocked(store, async () => {
    for (const [route, call] of tried) {
      const { status } = await call()
      assert.equal(status, 404, `${route.method} ${route.url}`)
    }
    const everything = await by.call(deletePoints, { ...at(2), body: { event: 'Talk' } })
    assert.deepEqual(everything.body, { deleted: 0 })
  })
  assert.deepEqual((await by.call(listOrders, at(2))).body, [])
  const listed = await by.call(listPointsUsers, at(2))
  assert.deepEqual(listed.body, { users: [], next_cursor: null })
  assert.deepEqual(await rowsOf(store), before)

  // a new route that names a thing belongs into the table above
  const naming = routes.filter(
    ({ route: { owner, params } }) =>
      owner === 'store' && Object.keys(params?.shape ?? {}).some((name) => name !== 'org'),
  )
  const names = new Set<string>(tried.map(([{ method, url }]) => `${method} ${url}`))
  names.add('GET /api/storefront/:org/wallet/:email') // a member's own, whatever the org
  const untried = naming.filter(({ route }) => !names.has(`${route.method} ${route.url}`))
  assert.deepEqual(
    untried.map(({ name }) => name),
    [],
  )
})

test('an attendance file awards the members of its own org alone, whoever knows the same emails', async (t) => {
  const store = await testStore(t)
  await belongings(store)
  const before = await rowsOf(store)
  const there = await imported(store, FILE, { event: 'Talk', org: 2 })
  assert.ok('awarded' in there)
  assert.deepEqual([there.awarded, there.created], [1, 1])
  const after = await rowsOf(store)
  assert.deepEqual(
    after.map((rows) => rows.filter(({ org_id }) => org_id === 1)),
    before,
  )
})
