import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditEvent } from '@guildhall/contracts/event'
import {
  createPointsUser,
  deletePoints,
  getLeaderboard,
  getUserPoints,
  listPointsUsers,
  putPointsUser,
} from '@guildhall/contracts/points'
import {
  getMemberProfile,
  getMyPoints,
  getWallet,
  memberClaimed,
  memberLogin,
} from '@guildhall/contracts/store-members'
import { checkout, getOrder, listMyOrders, placeMyOrder } from '@guildhall/contracts/store-orders'
import {
  at,
  award,
  CHAT,
  codeOf,
  inChat,
  madeMember,
  madeProduct,
  OFFICER,
  officer,
  platform,
  site,
  type TestStore,
  testStore,
} from '../testing.ts'
import { checkBooks } from '../testing-books.ts'
import { imported } from '../testing-imports.ts'

const ADA = 'ada@example.org'
const walletOf = async ({ as }: TestStore, email: string, org = 1, who = site(email, org)) => {
  const reply = await as(who).call(getWallet, { params: { org: `org${org}`, email } })
  return reply.status === 200 ? reply.body.total_points : reply.body
}
const pointsOf = async ({ as }: TestStore, chat = CHAT, org = 1) => {
  const reply = await as(inChat(chat, org)).call(getMyPoints, at(org))
  return reply.status === 200 ? reply.body.total_points : reply.body
}

test('two linked people have one balance, one list of orders and one line, and a second link changes nothing', async (t) => {
  const store = await testStore(t)
  const { as, link, db } = store
  await madeMember(store, ADA, 40)
  await as(site(ADA)).call(memberLogin, { ...at(), body: { email: ADA, student_id: 's1' } })
  await award(store, CHAT, 25)
  await award(store, CHAT, 7, 2)
  const { id } = await madeProduct(store, { price: 5, stock: 9 })
  const body = { items: [{ product_id: id, quantity: 1 }] }
  assert.equal((await as(site(ADA)).call(checkout, { ...at(), body })).status, 201)
  assert.equal((await as(inChat()).call(placeMyOrder, { ...at(), body })).status, 201)

  for (let n = 0; n < 2; n++) {
    await Promise.all([link(CHAT, ADA), link(CHAT, ADA)])
    assert.deepEqual([await walletOf(store, ADA), await pointsOf(store)], [55, 55])
    assert.deepEqual([await walletOf(store, ADA, 2), await pointsOf(store, CHAT, 2)], [7, 7])
  }
  const orders = await as(inChat()).call(listMyOrders, at())
  assert.ok(orders.status === 200)
  assert.equal(orders.body.length, 2)
  const users = await as(officer()).call(listPointsUsers, at())
  assert.ok(users.status === 200)
  assert.deepEqual(
    users.body.users.map((user) => [user.email, user.student_id, user.chat_linked]),
    [[ADA, 's1', true]],
  )
  await checkBooks(db)
})

test('an email that is linked to one chat user is not linked to another', async (t) => {
  const store = await testStore(t)
  await store.link(CHAT, ADA)
  await assert.rejects(store.link('20003', ADA), { code: 'account.linked_elsewhere' })
})

test('what officers noted under an email is of whoever proves it, in each org', async (t) => {
  const store = await testStore(t)
  await madeMember(store, ADA, 10, 1)
  await madeMember(store, ADA, 20, 2)
  assert.deepEqual([await walletOf(store, ADA, 1), await walletOf(store, ADA, 2)], [10, 20])
  await checkBooks(store.db)
})

test('what officers note later under a linked email is there in the chat session too', async (t) => {
  const store = await testStore(t)
  await store.link(CHAT, ADA)
  await madeMember(store, ADA, 10)
  assert.equal(await pointsOf(store), 10)
})

test('of ten first visits at once one person comes out', async (t) => {
  const store = await testStore(t)
  await madeMember(store, ADA, 10)
  const visit = () => store.as(site(ADA)).call(memberLogin, { ...at(), body: { email: ADA } })
  const replies = await Promise.all(Array.from({ length: 10 }, visit))
  const ids = replies.map((reply) => (reply.status === 200 ? reply.body.user?.id : reply.status))
  assert.equal(new Set(ids).size, 1)
  const people = await store.db.selectFrom('people').select('email').execute()
  assert.deepEqual(people, [{ email: ADA }])
})

test('a member reads and spends nobody else’s points', async (t) => {
  const store = await testStore(t)
  const { as, linked } = store
  const [eve, mail] = ['eve@example.org', { params: { org: 'org1', email: ADA } }]
  await madeMember(store, ADA, 50)
  await madeMember(store, eve, 1)
  const { id } = await madeProduct(store, { price: 5 })
  const body = { items: [{ product_id: id, quantity: 1 }] }
  const order = await as(site(ADA)).call(checkout, { ...at(), body })
  assert.ok(order.status === 201)

  linked.set('20009', eve)
  const strangers = [site(eve), platform('20009'), platform('20010')]
  for (const who of strangers) {
    const wallet = await as(who).call(getWallet, mail)
    assert.deepEqual(
      [wallet.status, 'code' in wallet.body && wallet.body.code],
      [403, 'identity.other_email'],
    )
    assert.equal((await as(who).call(checkout, { ...at(), body })).status, 409)
  }
  const byEmail = await as(site(eve)).call(getOrder, { params: { org: 'org1', id: ADA } })
  assert.equal(byEmail.status, 403)
  const params = { org: 'org1', id: String(order.body.id) }
  assert.equal((await as(site(eve)).call(getOrder, { params })).status, 404)
  assert.equal((await as(site(ADA)).call(getOrder, { params })).status, 200)
  assert.equal(
    (await as(officer(2)).call(getOrder, { params: { ...params, org: 'org2' } })).status,
    404,
  )
  assert.deepEqual([await walletOf(store, ADA), await walletOf(store, eve)], [45, 1])
  assert.equal(await walletOf(store, eve, 1, platform('20009')), 1)
})

/** What the audit says of whom points and orders were given to. */
const claimsOf = async ({ db }: TestStore) => {
  const lines = await db
    .selectFrom('outbox')
    .select('payload')
    .where('stream', '=', 'AUDIT')
    .orderBy('id')
    .execute()
  return lines.flatMap(({ payload }) => {
    const { action, org_id, actor_id, details } = payload as AuditEvent
    if (action !== memberClaimed.action) return []
    return [{ org_id, actor_id, ...memberClaimed.details.parse(details) }]
  })
}

test('an email that an officer gives a chat member opens nothing to its owner, and keeps them not out', async (t) => {
  const store = await testStore(t)
  await award(store, CHAT, 30)
  const users = await store.as(officer()).call(listPointsUsers, at())
  const id = users.status === 200 ? (users.body.users[0]?.id ?? '') : ''
  const params = { org: 'org1', identifier: id }
  await store.as(officer()).call(putPointsUser, { params, body: { email: ADA } })
  assert.equal(await walletOf(store, ADA), 0)
  const login = await store.as(site(ADA)).call(memberLogin, { ...at(), body: { email: ADA } })
  assert.ok(login.status === 200)
  assert.equal(login.body.user?.email, ADA)
  assert.notEqual(login.body.user?.id, id)
  await award(store, ADA, 4)
  assert.deepEqual([await walletOf(store, ADA), await pointsOf(store)], [4, 30])
  await store.link(CHAT, ADA)
  assert.equal(await walletOf(store, ADA), 34)
})

test('an email that an officer types for a member who proved another takes nothing from them', async (t) => {
  const store = await testStore(t)
  const bob = 'bob@example.org'
  await madeMember(store, bob, 10)
  await madeMember(store, bob, 20, 2)
  assert.equal(await walletOf(store, bob), 10)
  const params = { org: 'org1', identifier: bob }
  const changed = await store.as(officer()).call(putPointsUser, { params, body: { email: ADA } })
  assert.equal(changed.status, 200)
  await award(store, CHAT, 7)
  await store.link(CHAT, ADA)
  assert.deepEqual([await walletOf(store, ADA), await pointsOf(store)], [7, 7])
  assert.deepEqual([await walletOf(store, bob), await walletOf(store, bob, 2)], [10, 20])
  await store.as(officer()).call(putPointsUser, {
    params: { org: 'org1', identifier: changed.status === 200 ? changed.body.user.id : '' },
    body: { email: bob },
  })
  assert.equal(await walletOf(store, bob), 10)
  assert.equal(await walletOf(store, ADA), 7)
  await checkBooks(store.db)
})

test('whoever is given what an officer noted stands in the audit, as do two that became one', async (t) => {
  const store = await testStore(t)
  const noted = await madeMember(store, ADA, 10)
  assert.equal(await walletOf(store, ADA), 10)
  assert.deepEqual(await claimsOf(store), [
    { org_id: 1, actor_id: `user_${ADA}`, user_id: noted.id, into: noted.id },
  ])
  await award(store, CHAT, 7)
  await store.link(CHAT, ADA)
  const [, folded, ...none] = await claimsOf(store)
  assert.deepEqual([folded?.into, folded?.actor_id, none], [noted.id, CHAT, []])
})

test('a member who is linked is known by the email that they proved', async (t) => {
  const store = await testStore(t)
  const by = store.as(officer())
  await award(store, CHAT, 30)
  await store.link(CHAT, ADA)
  await award(store, CHAT, 5, 2) // joins after the link
  for (const [org, points] of [
    [1, 30],
    [2, 5],
  ] as const) {
    const params = { org: `org${org}`, identifier: ADA }
    const found = await store.as(officer(org)).call(getUserPoints, { params })
    assert.ok(found.status === 200)
    assert.deepEqual([found.body.total_points, found.body.user.email], [points, ADA])
    const board = await store.as(platform(OFFICER, org)).call(getLeaderboard, at(org))
    assert.ok(board.status === 200)
    assert.equal(board.body[0]?.identifier, ADA)
  }
  await award(store, ADA, 10)
  const { id } = await madeProduct(store, { price: 5 })
  const body = { items: [{ product_id: id, quantity: 1 }] }
  const placed = await store.as(inChat()).call(placeMyOrder, { ...at(), body })
  assert.ok(placed.status === 201)
  assert.equal(placed.body.order.user_email, ADA)
  const orders = await by.call(getOrder, { params: { org: 'org1', id: ADA } })
  assert.deepEqual(orders.body, [placed.body.order])
  const profile = await store.as(site(ADA)).call(getMemberProfile, at())
  assert.ok(profile.status === 200)
  assert.equal(profile.body.user.email, ADA)
  const twice = await by.call(createPointsUser, { ...at(), body: { name: 'Ada', email: ADA } })
  assert.deepEqual(codeOf(twice), [409, 'member.email_taken'])
  const taken = await by.call(deletePoints, { ...at(), body: { event: 'Start', user_email: ADA } })
  assert.deepEqual(codeOf(taken), [409, 'points.insufficient'])
  const unnoted = { params: { org: 'org1', identifier: ADA }, body: { email: null } }
  const changed = await by.call(putPointsUser, unnoted)
  assert.ok(changed.status === 200)
  assert.equal(changed.body.user.email, ADA)
  const still = await by.call(getOrder, { params: { org: 'org1', id: ADA } })
  assert.deepEqual(still.body, [placed.body.order])
})

test('who proved an email comes before whom an officer noted under it', async (t) => {
  const store = await testStore(t)
  await award(store, CHAT, 1)
  await award(store, '20003', 2)
  await store.link(CHAT, ADA)
  const mine = await store.as(inChat()).call(getMyPoints, at())
  assert.equal(mine.status, 200)
  const params = { org: 'org1', identifier: ADA }
  await store.as(officer()).call(putPointsUser, { params, body: { email: 'old@example.org' } })
  const users = await store.as(officer()).call(listPointsUsers, at())
  assert.ok(users.status === 200)
  const other = users.body.users.find(({ total_points }) => total_points === 2)
  await store.as(officer()).call(putPointsUser, {
    params: { org: 'org1', identifier: other?.id ?? '' },
    body: { email: ADA },
  })
  await award(store, ADA, 40)
  assert.deepEqual([await pointsOf(store), await pointsOf(store, '20003')], [41, 2])
  await imported(store, `Email,Checked-In Date\n${ADA},2026-10-01`)
  assert.deepEqual([await pointsOf(store), await pointsOf(store, '20003')], [46, 2])
})
