import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { listMemberRoles, listMembers } from '@guildhall/contracts/members'
import { people, servers } from '@guildhall/sandbox/demo'
import { CALLER_HEADER, callerKey, signIdentity } from '@guildhall/service/caller-token'
import { until } from '@guildhall/service/testing'
import { officer, type TestAuth, testAuth } from '../testing.ts'
import { createSend } from './send.ts'

const ROLES = 'GET /guilds/:guild_id/roles'
const LIST = 'GET /guilds/:guild_id/members'
const MEMBER = 'GET /guilds/:guild_id/members/:user_id'

const params = { org: 'demo' }

/** What one read answers over HTTP, with its Retry-After. */
function asking({ as, org }: TestAuth) {
  const client = as({ caller: officer(), org })
  return {
    roles: () => client.call(listMemberRoles, { params }),
    members: (query = {}) => client.call(listMembers, { params, query }),
  }
}

const limited = [503, 'chat.rate_limited']
const told = ({ status, body }: { status: number; body: object }) => [
  status,
  'code' in body ? body.code : undefined,
]

test('after a 429 no request goes out until the time that it told has passed', async (t) => {
  const auth = await testAuth(t)
  const { roles } = asking(auth)
  const asked = () => auth.sandbox.chatRequests.get(ROLES)
  Object.assign(auth.world.faults, { chat: 'rate_limited', chatRetryAfterSeconds: 1.5 })
  const began = performance.now()
  assert.deepEqual(told(await roles()), limited)
  assert.equal(asked(), 1)
  auth.world.faults.chat = undefined
  assert.deepEqual(told(await roles()), limited)
  await until(async () => (await roles()).status === 200)
  assert.ok(performance.now() - began >= 1_490)
  assert.equal(asked(), 2)
})

test('a bucket that an answer called empty is left alone, and others are not', async (t) => {
  const auth = await testAuth(t)
  const { members } = asking(auth)
  auth.world.chatLimit = { requests: 1, seconds: 60 }
  assert.equal((await members({ ids: people.officer.id })).status, 200)
  assert.deepEqual(told(await members({ ids: people.member.id })), limited)
  assert.equal(auth.sandbox.chatRequests.get(MEMBER), 1)
  assert.equal((await members()).status, 200)
  assert.equal((await members({ q: 'mil' })).status, 200)
  assert.deepEqual(told(await members({ q: 'oli' })), limited)
})

test('Retry-After tells the seconds', async (t) => {
  const auth = await testAuth(t)
  Object.assign(auth.world.faults, { chat: 'rate_limited', chatRetryAfterSeconds: 7.5 })
  const path = '/api/compute/demo/members/roles'
  const target = { service: 'auth', method: 'GET', path } as const
  const identity = { caller: officer(), org: auth.org, request_id: 'test' }
  const key = callerKey(auth.settings.INTERNAL_KEY, 'auth')
  for (const least of [8, 7]) {
    const headers = { [CALLER_HEADER]: signIdentity(identity, target, key) }
    const reply = await fetch(auth.url + path, { headers })
    const seconds = Number(reply.headers.get('retry-after'))
    assert.ok(seconds >= least && seconds <= 8, `${seconds}`)
  }
})

test('a list that a limit cut short goes on where it was', async (t) => {
  const auth = await testAuth(t)
  for (let i = 1; i <= 1_500; i++) {
    const id = `1944027${String(i).padStart(11, '0')}`
    auth.world.users.push({ id, username: `m${i}`, name: `M ${i}`, about: '' })
    auth.world.guilds[0]?.members.push({ userId: id, roleIds: [] })
  }
  const { members } = asking(auth)
  auth.world.chatLimit = { requests: 1, seconds: 1 }
  assert.deepEqual(told(await members()), limited)
  assert.equal(auth.sandbox.chatRequests.get(LIST), 1)
  const whole = await until(async () => {
    const reply = await members()
    return reply.status === 200 && reply.body
  })
  assert.equal(whole.total, 1_502)
  assert.equal(auth.sandbox.chatRequests.get(LIST), 2)
})

test('a limit on one server leaves the others alone', async (t) => {
  const auth = await testAuth(t)
  const rival = {
    prefix: 'rival',
    name: 'Rival',
    chat_server_id: servers.rival.id,
    officer_role_id: servers.rival.officerRoleId,
  }
  const { id } = await auth.db
    .insertInto('orgs')
    .values(rival)
    .returning('id')
    .executeTakeFirstOrThrow()
  auth.world.chatLimit = { requests: 1, seconds: 60 }
  assert.equal((await asking(auth).roles()).status, 200)
  const other = asking({ ...auth, org: { ...auth.org, id, prefix: 'rival' } })
  assert.equal((await other.roles()).status, 200)
})

for (const [what, headers] of Object.entries({
  'the whole API': { 'x-ratelimit-global': 'true', 'x-ratelimit-bucket': 'abc' },
  'what stands before the API': {},
})) {
  test(`a 429 of ${what} stops every request, a person's too`, async (t) => {
    let asked = 0
    const server = createServer((_req, reply) => {
      asked += 1
      reply.writeHead(429, { 'retry-after': '30', ...headers }).end('{}')
    })
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
    t.after(() => server.close())
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const send = createSend()
    assert.equal((await send(`${base}/guilds/1/roles`, { headers: {} })).status, 429)
    const late = { code: 'chat.rate_limited', retryAfter: 30 }
    await assert.rejects(send(`${base}/guilds/2/members`, { headers: {} }), late)
    const person = { headers: { Authorization: 'Bearer abc' } }
    await assert.rejects(send(`${base}/users/@me`, person), late)
    assert.equal(asked, 1)
  })
}
