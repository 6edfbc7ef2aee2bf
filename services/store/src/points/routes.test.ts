import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assignPoints, deletePoints, listPointsUsers } from '@guildhall/contracts/points'
import { checkout } from '@guildhall/contracts/store-orders'
import {
  at,
  award,
  balanceOf,
  CHAT,
  codeOf,
  madeMember,
  madeProduct,
  officer,
  site,
  testStore,
} from '../testing.ts'
import { checkBooks } from '../testing-books.ts'

const ADA = 'ada@example.org'
test('points go up and down, never below zero, and an event is taken back whole or from one', async (t) => {
  const store = await testStore(t)
  const by = store.as(officer())
  await madeMember(store, ADA)
  await madeMember(store, 'bob@example.org')
  const give = (user_identifier: string, points: number, event = 'Talk') =>
    by.call(assignPoints, { ...at(), body: { user_identifier, points, event } })
  assert.equal((await give(ADA, 10)).status, 201)
  assert.equal((await give('bob@example.org', 10)).status, 201)
  const down = await give(ADA, -4)
  assert.ok(down.status === 201 && down.body.total_points === 6)
  assert.deepEqual(codeOf(await give(ADA, -7)), [409, 'points.insufficient'])
  assert.equal((await give(ADA, 0)).status, 400)
  const one = await by.call(deletePoints, { ...at(), body: { event: 'Talk', user_email: ADA } })
  assert.deepEqual(one.body, { deleted: 2 })
  const rest = await by.call(deletePoints, { ...at(), body: { event: 'Talk' } })
  assert.deepEqual(rest.body, { deleted: 1 })
  const unknown = { event: 'Talk', user_email: 'x@example.org' }
  assert.deepEqual(codeOf(await by.call(deletePoints, { ...at(), body: unknown })), [
    404,
    'member.not_found',
  ])
  await checkBooks(store.db)
})

test('points that were spent are not taken back, and neither is anybody else’s of the event', async (t) => {
  const store = await testStore(t)
  const by = store.as(officer())
  await madeMember(store, ADA, 10)
  await madeMember(store, 'bob@example.org', 10)
  const { id } = await madeProduct(store, { price: 10 })
  const body = { items: [{ product_id: id, quantity: 1 }] }
  assert.equal((await store.as(site(ADA)).call(checkout, { ...at(), body })).status, 201)
  const taken = await by.call(deletePoints, { ...at(), body: { event: 'Start' } })
  assert.deepEqual(codeOf(taken), [409, 'points.insufficient'])
  const order = await by.call(deletePoints, { ...at(), body: { event: 'Order 1' } })
  assert.deepEqual(order.body, { deleted: 0 })
  await checkBooks(store.db)
})

test('a chat user on the server can be awarded at once, and who is not on it cannot', async (t) => {
  const store = await testStore(t)
  await Promise.all(Array.from({ length: 5 }, () => award(store, CHAT, 2)))
  const users = await store.as(officer()).call(listPointsUsers, at())
  assert.ok(users.status === 200)
  assert.deepEqual(
    users.body.users.map((user) => [user.name, user.email, user.chat_linked, user.total_points]),
    [[`Chat ${CHAT}`, null, true, 10]],
  )
  const body = { chat_user_id: '99999', points: 1, event: 'x' }
  const gone = await store.as(officer()).call(assignPoints, { ...at(), body })
  assert.deepEqual(codeOf(gone), [404, 'member.not_found'])
  const both = { chat_user_id: CHAT, user_identifier: ADA, points: 1, event: 'x' }
  assert.equal((await store.as(officer()).call(assignPoints, { ...at(), body: both })).status, 400)
})

test('an event is taken back however its letters are written', async (t) => {
  const store = await testStore(t)
  await madeMember(store, ADA)
  const by = store.as(officer())
  for (const event of ['Kürbisfest', 'KÜRBISFEST', 'Kürbis'])
    await by.call(assignPoints, { ...at(), body: { user_identifier: ADA, points: 5, event } })
  const taken = await by.call(deletePoints, { ...at(), body: { event: 'kürbisfest' } })
  assert.deepEqual(taken.body, { deleted: 2 })
  assert.equal(await balanceOf(store, ADA), 5)
})

test('one Idempotency-Key sent ten times at once awards once', async (t) => {
  const store = await testStore(t)
  await madeMember(store, ADA)
  const by = store.as(officer(), { 'idempotency-key': 'key-1' })
  const give = (points: number) =>
    by.call(assignPoints, { ...at(), body: { user_identifier: ADA, points, event: 'Talk' } })
  const replies = await Promise.all(Array.from({ length: 10 }, () => give(7)))
  assert.ok(replies[0]?.status === 201 && replies[0].body.total_points === 7)
  for (const reply of replies) assert.deepEqual(reply, replies[0])
  assert.deepEqual(codeOf(await give(8)), [409, 'idempotency.other_body'])
  await checkBooks(store.db)
})
