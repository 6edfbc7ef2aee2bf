import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  createPointsUser,
  deletePoints,
  getUserPoints,
  listPointsUsers,
  putPointsUser,
} from '@guildhall/contracts/points'
import { memberLogin } from '@guildhall/contracts/store-members'
import { at, codeOf, madeMember, officer, site, testStore } from '../testing.ts'

const ADA = 'ada@example.org'

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
  for (const name of ['', '  ']) {
    const nameless = await by.call(putPointsUser, {
      params: { org: 'org1', identifier: ADA },
      body: { name },
    })
    assert.deepEqual(codeOf(nameless), [400, 'request.invalid'])
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
