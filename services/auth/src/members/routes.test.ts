import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listMemberRoles, listMembers } from '@guildhall/contracts/members'
import { people, servers } from '@guildhall/sandbox/demo'
import { officer, type TestAuth, testAuth } from '../testing.ts'

const LIST = 'GET /guilds/:guild_id/members'
const params = { org: 'demo' }

const asOfficer = ({ as, org }: TestAuth) => as({ caller: officer(), org })

async function listed(auth: TestAuth, query: { q?: string; role?: string; ids?: string } = {}) {
  const reply = await asOfficer(auth).call(listMembers, { params, query })
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  return reply.body
}

async function refused(auth: TestAuth, query: Record<string, string> = {}) {
  const reply = await asOfficer(auth).call(listMembers, { params, query })
  assert.ok(reply.status !== 200, JSON.stringify(reply.body))
  return { status: reply.status, code: reply.body.code, error: reply.body.error }
}

/** Puts so many more members on the demo server: `m00001`, `m00002` and so on. */
function crowd({ world }: TestAuth, count: number) {
  for (let i = 1; i <= count; i++) {
    const id = `1944027${String(i).padStart(11, '0')}`
    const username = `m${String(i).padStart(5, '0')}`
    world.users.push({ id, username, name: username.toUpperCase(), about: '' })
    world.guilds[0]?.members.push({ userId: id, roleIds: [] })
  }
}

const memberOf = ({ world }: TestAuth, { id }: { id: string }) => {
  const found = world.guilds[0]?.members.find(({ userId }) => userId === id)
  assert.ok(found)
  return found
}

test('the list is sorted by name, with pictures and roles and without bots', async (t) => {
  const auth = await testAuth(t)
  const user = auth.world.users.find(({ id }) => id === people.member.id)
  Object.assign(user ?? {}, { avatar: 'abc' })
  memberOf(auth, people.officer).avatar = 'def'
  const { members, total } = await listed(auth)
  assert.equal(total, 2)
  assert.deepEqual(
    members.map(({ id, name, username }) => [id, name, username]),
    [
      [people.member.id, 'Milo', 'milo'],
      [people.officer.id, 'Olivia', 'olivia'],
    ],
  )
  assert.match(members[0]?.avatar ?? '', /^https:\/\/\S+\/avatars\/184402700000000002\/abc\.png/)
  assert.match(members[1]?.avatar ?? '', /^https:\/\/\S+\/guilds\/\d+\/users\/\d+\/avatars\/def/)
  assert.ok(members[1]?.roles.includes(servers.demo.officerRoleId))
})

test('q finds who begins so, whatever the capitals, and role the holders of a role', async (t) => {
  const auth = await testAuth(t)
  memberOf(auth, people.member).nick = 'Zed'
  const names = async (query: object) => (await listed(auth, query)).members.map(({ name }) => name)
  assert.deepEqual(await names({ q: 'ZE' }), ['Zed'])
  assert.deepEqual(await names({ q: 'mil' }), ['Zed'])
  assert.deepEqual(await names({ q: 'ed' }), [])
  assert.deepEqual(await names({ q: 'guildhall' }), [])
  assert.deepEqual(await names({ q: ' ' }), ['Olivia', 'Zed'])
  assert.deepEqual(await names({ role: servers.demo.officerRoleId }), ['Olivia'])
  assert.deepEqual(await names({ q: 'z', role: servers.demo.officerRoleId }), [])
})

test('a long list is read in pages; 50 are shown where nothing is said and 500 at most', async (t) => {
  const auth = await testAuth(t)
  crowd(auth, 2_100)
  const { members, total } = await listed(auth)
  assert.deepEqual([members.length, total], [50, 2_102])
  assert.equal(auth.sandbox.chatRequests.get(LIST), 3)
  const most = await asOfficer(auth).call(listMembers, { params, query: { limit: '500' } })
  assert.equal(most.status === 200 && most.body.members.length, 500)
  for (const limit of ['0', '501', '1.5', 'x'])
    assert.equal((await refused(auth, { limit })).status, 400, limit)
})

test('what was read is kept, and many who ask at once share one read', async (t) => {
  const auth = await testAuth(t)
  await Promise.all(Array.from({ length: 10 }, () => listed(auth)))
  memberOf(auth, people.member).nick = 'Zed'
  assert.equal((await listed(auth)).members[0]?.name, 'Milo')
  assert.equal(auth.sandbox.chatRequests.get(LIST), 1)
})

test('without the member-list privilege the officer is told which switch to set, and q works', async (t) => {
  const auth = await testAuth(t)
  auth.world.faults.chatMembersIntent = 'off'
  const { status, code, error } = await refused(auth)
  assert.deepEqual([status, code], [503, 'chat.members_intent'])
  assert.match(error, /Server Members Intent.*developer portal/)
  assert.equal((await listed(auth, { q: 'mil' })).total, 1)
  const ids = [people.member, people.officer, people.stranger].map(({ id }) => id).join()
  assert.equal((await listed(auth, { ids })).total, 2)
})

test('a server without the bot is said to be one', async (t) => {
  const auth = await testAuth(t)
  const guild = auth.world.guilds[0]
  if (guild)
    guild.members = guild.members.filter(({ userId }) => userId !== auth.world.application.botId)
  for (const query of [{}, { q: 'm' }])
    assert.deepEqual((await refused(auth, query)).code, 'chat.not_on_server')
})

test('ids answer the members among them in their order', async (t) => {
  const auth = await testAuth(t)
  const ids = [people.officer.id, people.stranger.id, people.member.id, people.officer.id]
  const { members } = await listed(auth, { ids: ids.join() })
  assert.deepEqual(
    members.map(({ name }) => name),
    ['Olivia', 'Milo'],
  )
})

test('50 ids are one request to the platform, 51 and what is no id are refused', async (t) => {
  const auth = await testAuth(t)
  crowd(auth, 51)
  const ids = auth.world.users.slice(-51).map(({ id }) => id)
  assert.equal((await listed(auth, { ids: ids.slice(1).join() })).total, 50)
  assert.equal(auth.sandbox.chatRequests.get(LIST), 1)
  for (const wrong of [ids.join(), '', 'olivia', `${ids[0]},`])
    assert.equal((await refused(auth, { ids: wrong })).status, 400, wrong)
})

test('while the chat platform is away every read is 503, and nothing is kept of it', async (t) => {
  const auth = await testAuth(t)
  auth.world.faults.chat = 'down'
  const many = Array.from({ length: 6 }, (_, i) => `18440270000000010${i}`).join()
  for (const query of [{}, { q: 'm' }, { ids: people.member.id }, { ids: many }]) {
    const { status, code } = await refused(auth, query)
    assert.deepEqual([status, code], [503, 'chat.unavailable'])
  }
  const roles = await asOfficer(auth).call(listMemberRoles, { params })
  assert.equal(roles.status, 503)
  auth.world.faults.chat = undefined
  assert.equal((await listed(auth)).total, 2)
})

test('roles come highest first, without the one of everybody and those of bots', async (t) => {
  const auth = await testAuth(t)
  auth.world.guilds[0]?.roles.push(
    { id: '384402700000000021', name: 'Booster', position: 1, booster: true },
    { id: '384402700000000020', name: 'Twin', position: 3 },
  )
  const reply = await asOfficer(auth).call(listMemberRoles, { params })
  assert.ok(reply.status === 200)
  assert.deepEqual(
    reply.body.roles.map(({ name, color }) => [name, color]),
    [
      ['Officer', '#e67e22'],
      ['Twin', null],
      ['Member', '#3498db'],
      ['Booster', null],
    ],
  )
})
