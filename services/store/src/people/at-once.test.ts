import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assignPoints, deletePoints, putPointsUser } from '@guildhall/contracts/points'
import { memberLogin } from '@guildhall/contracts/store-members'
import { checkout } from '@guildhall/contracts/store-orders'
import { deleteProduct } from '@guildhall/contracts/store-products'
import { until } from '@guildhall/service/testing'
import {
  at,
  award,
  idIn,
  madeMember,
  madeProduct,
  officer,
  site,
  type TestStore,
  testStore,
} from '../testing.ts'
import { checkBooks, somebodyWaits } from '../testing-books.ts'

const ROUNDS = 12
/** Of links, which take more to prepare. */
const LINK_ROUNDS = 5
const TEN = Array.from({ length: 10 }, (_, n) => n)
const emailOf = (n: number, round = 0) => `person${n}-${round}@example.org`
const chatOf = (n: number, round = 0) => String(40_000 + 100 * round + n)

/** Runs all at once; whatever is refused, nothing is a fault. */
async function atOnce(work: (() => Promise<object>)[]) {
  for (const reply of await Promise.all(work.map((start) => start())))
    if ('status' in reply) assert.ok(Number(reply.status) < 500, JSON.stringify(reply))
}
const give = ({ as }: TestStore, key: object, event = 'Start') => {
  const body = { ...key, points: 1, event }
  return () => as(officer()).call(assignPoints, { ...at(), body })
}
const takeBack =
  ({ as }: TestStore, event = 'Start') =>
  () =>
    as(officer()).call(deletePoints, { ...at(), body: { event } })

test('ten checkouts of a product that an officer deletes meanwhile are sold or refused', async (t) => {
  const store = await testStore(t)
  for (const n of TEN) await madeMember(store, emailOf(n), 1_000)
  for (let round = 0; round < ROUNDS; round++) {
    const { id } = await madeProduct(store, { price: 1, stock: 100 })
    const body = { items: [{ product_id: id, quantity: 1 }] }
    const buy = TEN.map((n) => () => store.as(site(emailOf(n))).call(checkout, { ...at(), body }))
    await atOnce([() => store.as(officer()).call(deleteProduct, idIn(id)), ...buy])
  }
  await checkBooks(store.db)
})

test('an event is taken back while ten are given its points', async (t) => {
  const store = await testStore(t)
  for (const n of TEN) await madeMember(store, emailOf(n))
  for (let round = 0; round < ROUNDS; round++) {
    const [last, ...given] = TEN.map((n) => give(store, { user_identifier: emailOf(n) })).reverse()
    await last?.() // the one whom the first to take back locks, before the others have anything
    await atOnce([takeBack(store), ...given.flatMap((one) => [one, takeBack(store)])])
  }
  await checkBooks(store.db)
})

test('ten are given points while they are linked, and have them all', async (t) => {
  const store = await testStore(t)
  for (let round = 0; round < LINK_ROUNDS; round++) {
    const pairs = TEN.map((n) => [emailOf(n, round), chatOf(n, round)] as const)
    for (const [email, chat] of pairs) {
      await award(store, chat, 1)
      await madeMember(store, email, 1)
    }
    await atOnce(
      pairs.flatMap(([user_identifier, chat_user_id]) => [
        give(store, { user_identifier }),
        give(store, { chat_user_id }),
        () => store.link(chat_user_id, user_identifier),
        give(store, { chat_user_id }),
      ]),
    )
  }
  const members = await store.db.selectFrom('memberships').select('balance').execute()
  assert.deepEqual(new Set(members.map(({ balance }) => balance)), new Set([5]))
  assert.equal(members.length, 10 * LINK_ROUNDS)
  await checkBooks(store.db)
})

test('ten are linked, with a membership to claim each, while an event is taken back', async (t) => {
  const store = await testStore(t)
  for (let round = 0; round < LINK_ROUNDS; round++) {
    for (const n of TEN) await threeOf(store, emailOf(n, round), chatOf(n, round))
    await atOnce([
      ...TEN.map((n) => () => store.link(chatOf(n, round), emailOf(n, round))),
      ...TEN.map(() => takeBack(store)),
    ])
    assert.equal((await takeBack(store)()).status, 200)
  }
  const members = await store.db.selectFrom('memberships').select('balance').execute()
  assert.equal(members.length, 10 * LINK_ROUNDS)
  assert.deepEqual(new Set(members.map(({ balance }) => balance)), new Set([0]))
  await checkBooks(store.db)
})

/** One person's three memberships of an org: by chat, by a proved email that an officer changed, and to claim. */
async function threeOf(store: TestStore, email: string, chat: string) {
  const other = `other-${email}`
  await award(store, chat, 1)
  await store.as(site(email)).call(memberLogin, { ...at(), body: { email } })
  const params = { org: 'org1', identifier: email }
  await store.as(officer()).call(putPointsUser, { params, body: { email: other } })
  await award(store, other, 1)
  await madeMember(store, email, 1)
}

test('a product that is being ordered when it is deleted is kept for that order', async (t) => {
  const store = await testStore(t)
  const { db } = store
  const [mug, cap] = [await madeProduct(store), await madeProduct(store)]
  await madeMember(store, emailOf(0), 50)
  const items = [{ product_id: mug.id, quantity: 1 }]
  const placed = await store.as(site(emailOf(0))).call(checkout, { ...at(), body: { items } })
  assert.ok(placed.status === 201, JSON.stringify(placed.body))
  const [deleting] = await db.transaction().execute(async (trx) => {
    await trx.selectFrom('products').select('id').where('id', '=', cap.id).forUpdate().execute()
    const item = { product_id: cap.id, product_name: 'Cap', quantity: 1, price_at_time: 0 }
    await trx
      .insertInto('order_items')
      .values({ ...item, order_id: placed.body.id })
      .execute()
    const started = [store.as(officer()).call(deleteProduct, idIn(cap.id))]
    await until(() => somebodyWaits(db))
    return started
  })
  assert.equal((await deleting)?.status, 200)
  const kept = db.selectFrom('products').select('retired').where('id', '=', cap.id)
  assert.deepEqual(await kept.execute(), [{ retired: true }])
})
