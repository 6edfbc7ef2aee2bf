import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listGuildRoles, listGuilds } from '@guildhall/contracts/superadmin'
import { people, servers } from '@guildhall/sandbox/demo'
import { callerOf, testAuth } from '../testing.ts'

const superadmin = { kind: 'superadmin' as const, ...callerOf(people.superadmin) }

test("the bot's servers are listed with their orgs, page by page", async (t) => {
  const { as, org } = await testAuth(t)
  const client = as({ caller: superadmin })
  const reply = await client.call(listGuilds, {})
  const demo = { id: servers.demo.id, name: 'Demo Club', org_id: org.id }
  const rival = { id: servers.rival.id, name: 'Rival Club', org_id: null }
  assert.deepEqual(reply.body, { guilds: [demo, rival], next_cursor: null })
  const first = await client.call(listGuilds, { query: { limit: '1' } })
  assert.ok(first.status === 200 && first.body.next_cursor)
  const cursor = first.body.next_cursor
  const second = await client.call(listGuilds, { query: { limit: '1', cursor } })
  assert.deepEqual(second.body, { guilds: [rival], next_cursor: null })
})

test('more servers than one page of the platform holds are read to the end', async (t) => {
  const { as, world } = await testAuth(t)
  const botId = world.application.botId
  for (let n = 0; n < 250; n++) {
    const id = `2844027000000${String(n + 10_000)}`
    const members = [{ userId: botId, roleIds: [] }]
    world.guilds.push({ id, name: `Club ${n}`, ownerId: botId, roles: [], members })
  }
  const reply = await as({ caller: superadmin }).call(listGuilds, { query: { limit: '500' } })
  assert.ok(reply.status === 200)
  assert.equal(new Set(reply.body.guilds.map(({ id }) => id)).size, 252)
})

test('the roles of a server are listed, the highest first, with those that may be officer role', async (t) => {
  const { as } = await testAuth(t)
  const params = { guild_id: servers.demo.id }
  const reply = await as({ caller: superadmin }).call(listGuildRoles, { params })
  assert.ok(reply.status === 200)
  assert.deepEqual(
    reply.body.roles.map(({ name, color, may_be_officer_role }) => [
      name,
      color,
      may_be_officer_role,
    ]),
    [
      ['Officer', '#e67e22', true],
      ['guildhall', '#000000', false],
      ['Member', '#3498db', true],
      ['@everyone', '#000000', false],
    ],
  )
})

test('a server without the bot is not found, and a platform that is away is unavailable', async (t) => {
  const { as, world } = await testAuth(t)
  const client = as({ caller: superadmin })
  const roles = (guild_id: string) => client.call(listGuildRoles, { params: { guild_id } })
  assert.equal((await roles('999999999999999999')).status, 404)
  world.guilds[1]?.members.splice(0)
  assert.equal((await roles(servers.rival.id)).status, 404)
  world.faults.chat = 'down'
  assert.equal((await roles(servers.demo.id)).status, 503)
  assert.equal((await client.call(listGuilds, {})).status, 503)
})
