import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getMemberProfile, getWallet, memberLogin } from '@guildhall/contracts/store-members'
import { at, award, codeOf, madeMember, platform, site, testStore } from '../testing.ts'

const ADA = 'ada@example.org'

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

test('a wallet shows the newest twenty movements', async (t) => {
  const store = await testStore(t)
  await madeMember(store, ADA)
  for (let n = 1; n <= 21; n++) await award(store, ADA, n)
  const wallet = { params: { org: 'org1', email: ADA } }
  const reply = await store.as(site(ADA)).call(getWallet, wallet)
  assert.ok(reply.status === 200)
  assert.deepEqual(
    reply.body.points_breakdown.map(({ points }) => points),
    Array.from({ length: 20 }, (_, n) => 21 - n),
  )
  assert.equal(reply.body.total_points, 231)
})
