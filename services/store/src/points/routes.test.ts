import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assignPoints,
  createPointsUser,
  deletePoints,
  getLeaderboard,
  getPoints,
  getUserPoints,
  listPointsUsers,
  putPointsUser,
} from '@guildhall/contracts/points'
import { getMemberProfile, getWallet, memberLogin } from '@guildhall/contracts/store-members'
import { checkout } from '@guildhall/contracts/store-orders'
import {
  anyone,
  at,
  award,
  CHAT,
  madeMember,
  madeProduct,
  OFFICER,
  officer,
  platform,
  site,
  testStore,
} from '../testing.ts'
import { checkBooks } from '../testing-books.ts'

const ADA = 'ada@example.org'
const codeOf = ({ status, body }: { status: number; body: unknown }) => [
  status,
  (body as { code?: string }).code,
]

test('officers add, change and find members by email, id and username', async (t) => {
  const { as } = await testStore(t)
  const by = as(officer())
  const body = {
    name: 'Ada',
    email: ' ADA@Example.org',
    username: 'Ada',
    profile_fields: { shirt: 'M' },
  }
  const made = await by.call(createPointsUser, { ...at(), body })
  assert.ok(made.status === 201)
  assert.deepEqual([made.body.user.email, made.body.user.username], [ADA, 'ada'])
  for (const identifier of [ADA, 'ADA@example.org', made.body.user.id, 'Ada']) {
    const params = { org: 'org1', identifier }
    const put = await by.call(putPointsUser, { params, body: { major: `Maths ${identifier}` } })
    assert.ok(put.status === 200, identifier)
    assert.deepEqual(
      [put.body.user.id, put.body.user.major, put.body.user.name, put.body.user.profile_fields],
      [made.body.user.id, `Maths ${identifier}`, 'Ada', { shirt: 'M' }],
    )
  }
  const twice = await by.call(createPointsUser, { ...at(), body: { name: 'A', email: ADA } })
  assert.deepEqual(codeOf(twice), [409, 'member.email_taken'])
  const named = { name: 'B', email: 'b@example.org', username: 'ada' }
  const taken = await by.call(createPointsUser, { ...at(), body: named })
  assert.deepEqual(codeOf(taken), [409, 'member.username_taken'])
  const nobody = { params: { org: 'org1', identifier: 'nobody' } }
  assert.deepEqual(codeOf(await by.call(getUserPoints, nobody)), [404, 'member.not_found'])
})

test('officers of one org neither see nor change what another knows of a shared person', async (t) => {
  const store = await testStore(t)
  const { as } = store
  for (const org of [1, 2]) {
    await madeMember(store, ADA, 10 * org, org)
    await as(site(ADA, org)).call(memberLogin, { ...at(org), body: { email: ADA } })
  }
  const people = await store.db.selectFrom('people').selectAll().execute()
  assert.equal(people.length, 1)
  const params = { org: 'org1', identifier: ADA }
  const body = { name: 'Changed', student_id: 's1' }
  const changed = await as(officer()).call(putPointsUser, { params, body })
  assert.ok(changed.status === 200)
  const other = await as(officer(2)).call(listPointsUsers, at(2))
  assert.ok(other.status === 200)
  assert.deepEqual(
    other.body.users.map((user) => [user.name, user.student_id, user.total_points]),
    [['ada', null, 20]],
  )
  assert.notEqual(other.body.users[0]?.id, changed.body.user.id)
  const foreign = { params: { org: 'org2', identifier: changed.body.user.id } }
  assert.equal((await as(officer(2)).call(getUserPoints, foreign)).status, 404)
  await as(officer()).call(deletePoints, { ...at(), body: { event: 'Start' } })
  const kept = await as(officer(2)).call(getUserPoints, {
    params: { org: 'org2', identifier: ADA },
  })
  assert.ok(kept.status === 200)
  assert.equal(kept.body.total_points, 20)
})

test('members and entries come in pages, and a cursor counts for its own list', async (t) => {
  const store = await testStore(t)
  for (let n = 0; n < 5; n++) await madeMember(store, `m${n}@example.org`, n + 1)
  const by = store.as(officer())
  const names: string[] = []
  let cursor: string | undefined
  do {
    const page = await by.call(listPointsUsers, { ...at(), query: { limit: '2', cursor } })
    assert.ok(page.status === 200)
    names.push(...page.body.users.map(({ name }) => name))
    cursor = page.body.next_cursor ?? undefined
  } while (cursor)
  assert.deepEqual(names, ['m4', 'm3', 'm2', 'm1', 'm0'])
  const found = await by.call(listPointsUsers, { ...at(), query: { q: 'M3@', limit: '1' } })
  assert.ok(found.status === 200 && found.body.users.length === 1)
  const first = await by.call(listPointsUsers, { ...at(), query: { limit: '2' } })
  const foreign = first.status === 200 ? (first.body.next_cursor ?? undefined) : undefined
  const wrong = await store
    .as(officer(2))
    .call(listPointsUsers, { ...at(2), query: { cursor: foreign } })
  assert.deepEqual(codeOf(wrong), [400, 'cursor.invalid'])
})

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

test('the lists for everybody show no email, but to officers of that org', async (t) => {
  const store = await testStore(t)
  await madeMember(store, 'zoe@example.org', 30)
  await madeMember(store, ADA, 20)
  await madeMember(store, 'other@example.org', 99, 2)
  type Who = Parameters<typeof store.as>[0]
  const ranked = (who: Who) => store.as(who).call(getLeaderboard, at())
  const named = (who: Who) => store.as(who).call(getPoints, at())
  for (const [list, order] of [
    [ranked, ['zoe', 'ada']],
    [named, ['ada', 'zoe']],
  ] as const) {
    for (const who of [anyone(), platform('20007'), platform(OFFICER)]) {
      const reply = await list(who)
      assert.ok(reply.status === 200)
      assert.deepEqual(
        reply.body.map(({ name }) => name),
        order,
      )
      const officers = who.caller?.kind === 'platform' && who.caller.chat_user_id === OFFICER
      assert.equal(JSON.stringify(reply.body).includes('@'), officers)
      assert.equal(reply.body[0]?.points_details[0]?.event, 'Start')
    }
  }
  const page = await store
    .as(anyone())
    .call(getLeaderboard, { ...at(), query: { limit: '1', offset: '1' } })
  assert.ok(page.status === 200)
  assert.deepEqual(
    page.body.map(({ name }) => name),
    ['ada'],
  )
})

test('a member signs in by their own email alone, and fills only what is empty', async (t) => {
  const store = await testStore(t)
  const user = await madeMember(store, ADA, 5)
  const login = (body: { email: string; name?: string; student_id?: string }) =>
    store.as(site(ADA)).call(memberLogin, { ...at(), body })
  const other = await login({ email: 'eve@example.org' })
  assert.deepEqual(codeOf(other), [403, 'identity.other_email'])
  for (const student_id of ['s1', 's2']) {
    const reply = await login({ email: 'Ada@Example.org', name: 'Other', student_id })
    assert.ok(reply.status === 200)
    assert.deepEqual(reply.body.user, {
      ...{ id: user.id, name: 'ada', username: null, email: ADA, student_id: 's1' },
      chat_linked: false,
    })
  }
  const stranger = await store.as(site('new@example.org')).call(getMemberProfile, at())
  assert.deepEqual(codeOf(stranger), [404, 'member.not_found'])
  const unlinked = await store.as(platform('20011')).call(getMemberProfile, at())
  assert.deepEqual(codeOf(unlinked), [409, 'account.not_linked'])
})

test('in report mode another email gets an answer without anything in it, and writes nothing', async (t) => {
  const store = await testStore(t, { ACCESS_ENFORCE: 'false' })
  const body = { email: 'eve@example.org' }
  const reply = await store.as(site(ADA)).call(memberLogin, { ...at(), body })
  assert.ok(reply.status === 200)
  assert.deepEqual(Object.keys(reply.body), ['message'])
  const people = await store.db.selectFrom('people').select('id').execute()
  assert.deepEqual(people, [])
  const wallet = { params: { org: 'org1', email: 'eve@example.org' } }
  assert.equal((await store.as(site(ADA)).call(getWallet, wallet)).status, 403)
})
