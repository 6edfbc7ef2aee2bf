import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { uploadEventCsv } from '@guildhall/contracts/point-imports'
import { assignPoints, deletePoints, putPointsUser } from '@guildhall/contracts/points'
import { memberLogin } from '@guildhall/contracts/store-members'
import {
  cancelMyOrder,
  checkout,
  deleteOrder,
  OrderStatus,
  placeMyOrder,
  putOrder,
} from '@guildhall/contracts/store-orders'
import { deleteProduct } from '@guildhall/contracts/store-products'
import { until } from '@guildhall/service/testing'
import {
  at,
  inChat,
  madeMember,
  madeProduct,
  officer,
  site,
  type TestStore,
  testStore,
} from '../testing.ts'
import { checkBooks, heldPieces } from '../testing-books.ts'

const PEOPLE = 6
const STEPS = 360
/** Steps on the way at the same time. */
const AT_ONCE = 12

/** Numbers that a seed decides (mulberry32), so that a history that fails can be run again. */
function randomFrom(seed: number) {
  let state = seed
  return (below: number) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}
type Random = ReturnType<typeof randomFrom>

const emailOf = (n: number) => `person${n}@example.org`
const chatOf = (n: number) => `3000${n}`

/** One thing that somebody does, in one of two orgs that share their people. */
function step(store: TestStore, random: Random, products: readonly number[]) {
  const { as, link } = store
  const org = 1 + random(2)
  const [email, chat] = [emailOf(random(PEOPLE)), chatOf(random(PEOPLE))]
  const event = `Event ${random(3)}`
  const by = as(officer(org))
  const params = { org: `org${org}`, id: String(1 + random(40)) }
  const product = products[org - 1 + 2 * random(products.length / 2)] // those of the org
  const items = [{ product_id: product ?? 0, quantity: 1 + random(3) }]
  const points = random(40) - 10 || 5
  const which = PEOPLE - 1 - random(PEOPLE)
  const ways = [
    () => by.call(assignPoints, { ...at(org), body: { user_identifier: email, points, event } }),
    () => by.call(assignPoints, { ...at(org), body: { chat_user_id: chat, points, event } }),
    () => by.call(deletePoints, { ...at(org), body: { event } }),
    () => by.call(deletePoints, { ...at(org), body: { event, user_email: email } }),
    () => as(site(email, org)).call(checkout, { ...at(org), body: { items } }),
    () => as(inChat(chat, org)).call(placeMyOrder, { ...at(org), body: { items } }),
    () => as(site(email, org)).call(memberLogin, { ...at(org), body: { email } }),
    () => as(inChat(chat, org)).call(cancelMyOrder, { params, body: {} }),
    () => by.call(putOrder, { params, body: { status: OrderStatus.options[random(5)] } }),
    () => by.call(deleteOrder, { params, query: { refund: String(random(2) === 0) } }),
    () => by.call(deleteProduct, { params }),
    () =>
      by.call(uploadEventCsv, {
        ...at(org),
        body: attended(event, email, emailOf(random(PEOPLE))),
      }),
    () => by.call(putPointsUser, edit(org, email, emailOf(random(2 * PEOPLE)))),
    () => link(chatOf(which), emailOf(random(PEOPLE))).catch(refused),
  ]
  return ways[random(ways.length)]?.()
}

/** An attendance file of two. */
function attended(event_name: string, ...emails: string[]) {
  const rows = emails.map((email) => `${email},2026-10-01`)
  const file = [new File([['Email,Checked-In Date', ...rows].join('\n')], 'attendance.csv')]
  return { file, event_name, event_points: '5' }
}

/** An officer notes another email for a member; also one that is somebody else's. */
const edit = (org: number, identifier: string, email: string) => ({
  params: { org: `org${org}`, identifier },
  body: { email, major: 'Maths' },
})

/** Whatever somebody tries, the store answers and does not break. */
function checkReply(reply: object | undefined) {
  if (reply && 'status' in reply) assert.ok(Number(reply.status) < 500, JSON.stringify(reply))
}

/** Refused links are part of a history. */
const refused = (error: { code?: string }) => {
  assert.equal(error.code, 'account.linked_elsewhere')
  return undefined
}

/** Six products of both orgs, and how many pieces there are of each. */
async function stock(store: TestStore) {
  const products = new Map<number, number>()
  for (let n = 0; n < 6; n++) {
    const made = await madeProduct(store, { price: 3 + n, stock: 20 + n, org: 1 + (n % 2) })
    products.set(made.id, made.stock)
  }
  return products
}

// the fifth is another each time; its name says which
for (const seed of [1, 2, 3, 4, randomInt(2 ** 31)])
  test(`after random history ${seed} the books agree`, async (t) => {
    const store = await testStore(t)
    const random = randomFrom(seed)
    const products = await stock(store)
    for (let n = 0; n < 2 * PEOPLE; n++) await madeMember(store, emailOf(n >> 1), 30, 1 + (n % 2))

    for (let n = 0; n < STEPS; n += AT_ONCE) {
      const steps = Array.from({ length: AT_ONCE }, () => step(store, random, [...products.keys()]))
      for (const reply of await Promise.all(steps)) checkReply(reply)
      await checkBooks(store.db)
    }
    const open = store.db.selectFrom('imports').select('id').where('state', '=', 'queued')
    await until(async () => (await open.execute()).length === 0)
    await checkBooks(store.db)
    const failed = store.db.selectFrom('job_runs').select('error').where('state', '=', 'failed')
    assert.deepEqual(await failed.execute(), [])
    const left = await store.db.selectFrom('products').select(['id', 'stock']).execute()
    const held = await heldPieces(store.db)
    for (const { id, stock } of left) assert.equal(stock + (held.get(id) ?? 0), products.get(id))
    const placed = await store.db.selectFrom('orders').select('status').execute()
    assert.ok(placed.length > 5, `${placed.length} orders`)
  })
