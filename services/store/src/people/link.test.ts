import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listPointsUsers, putPointsUser } from '@guildhall/contracts/points'
import {
  getMemberProfile,
  getMyPoints,
  getWallet,
  memberLogin,
} from '@guildhall/contracts/store-members'
import { checkout, getOrder, listMyOrders, placeMyOrder } from '@guildhall/contracts/store-orders'
import {
  at,
  award,
  CHAT,
  inChat,
  madeMember,
  madeProduct,
  officer,
  platform,
  site,
  type TestStore,
  testStore,
} from '../testing.ts'
import { checkBooks } from '../testing-books.ts'

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

test('an email that an officer gives a chat member opens nothing to the owner of the email', async (t) => {
  const store = await testStore(t)
  await award(store, CHAT, 30)
  const users = await store.as(officer()).call(listPointsUsers, at())
  const id = users.status === 200 ? (users.body.users[0]?.id ?? '') : ''
  const params = { org: 'org1', identifier: id }
  await store.as(officer()).call(putPointsUser, { params, body: { email: ADA } })
  assert.equal(await walletOf(store, ADA), 0)
  const login = await store.as(site(ADA)).call(memberLogin, { ...at(), body: { email: ADA } })
  assert.deepEqual(
    [login.status, 'code' in login.body && login.body.code],
    [409, 'member.email_taken'],
  )
  await store.link(CHAT, ADA)
  assert.equal(await walletOf(store, ADA), 30)
})

test('an email corrected by an officer gives that org’s membership, and no other, to its owner', async (t) => {
  const store = await testStore(t)
  const wrong = 'adda@example.org'
  await madeMember(store, wrong, 10)
  await madeMember(store, wrong, 20, 2)
  assert.equal(await walletOf(store, wrong), 10)
  const params = { org: 'org1', identifier: wrong }
  const changed = await store.as(officer()).call(putPointsUser, { params, body: { email: ADA } })
  assert.equal(changed.status, 200)
  assert.deepEqual([await walletOf(store, ADA), await walletOf(store, ADA, 2)], [10, 0])
  assert.deepEqual([await walletOf(store, wrong), await walletOf(store, wrong, 2)], [0, 20])
  const profile = await store.as(site(ADA)).call(getMemberProfile, at())
  assert.ok(profile.status === 200)
  assert.equal(profile.body.user.email, ADA)
})
