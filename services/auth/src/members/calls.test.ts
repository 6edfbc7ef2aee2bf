import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import { decideAccess } from '@guildhall/contracts/auth'
import { findDisplayNames, findMembership } from '@guildhall/contracts/members'
import { people, servers } from '@guildhall/sandbox/demo'
import { type TestAuth, testAuth } from '../testing.ts'

const MEMBER = 'GET /guilds/:guild_id/members/:user_id'

async function asker(t: Parameters<typeof busAs>[0], { settings, org }: TestAuth) {
  const bus = await busAs(t, { url: settings.NATS_URL, peer: 'knowledge' })
  return {
    membership: ({ id }: { id: string }, org_id = org.id) =>
      ask(bus, findMembership, { org_id, chat_user_id: id }),
    names: (ids: string[]) => ask(bus, findDisplayNames, { org_id: org.id, ids }),
  }
}

test('an officer, a member and a stranger are told apart', async (t) => {
  const auth = await testAuth(t)
  const { membership } = await asker(t, auth)
  const { valid_until, ...found } = await membership(people.officer)
  assert.deepEqual(found, {
    member: true,
    officer: true,
    name: 'Olivia',
    roles: auth.world.guilds[0]?.members[0]?.roleIds,
  })
  assert.ok(found.roles.includes(servers.demo.officerRoleId))
  assert.ok(Date.parse(valid_until) - Date.now() <= 60_000)
  const milo = await membership(people.member)
  assert.deepEqual([milo.member, milo.officer, milo.name], [true, false, 'Milo'])
  const stan = await membership(people.stranger)
  assert.deepEqual([stan.member, stan.officer, stan.name, stan.roles], [false, false, null, []])
  const sofia = await membership(people.superadmin)
  assert.deepEqual([sofia.member, sofia.officer], [false, false])
})

test('an access decision, a membership and a name are one read of the chat platform', async (t) => {
  const auth = await testAuth(t)
  const { membership, names } = await asker(t, auth)
  const gateway = await busAs(t, { url: auth.settings.NATS_URL, peer: 'gateway' })
  const who = { org_id: auth.org.id, chat_user_id: people.officer.id }
  const [decision, found] = await Promise.all([
    ask(gateway, decideAccess, who),
    membership(people.officer),
  ])
  assert.equal(decision.valid_until, found.valid_until)
  assert.deepEqual(await names([people.officer.id]), { names: { [people.officer.id]: 'Olivia' } })
  assert.equal(auth.sandbox.chatRequests.get(MEMBER), 1)
})

test('an unknown org, a platform that is away and too many ids are refused', async (t) => {
  const auth = await testAuth(t)
  const { membership, names } = await asker(t, auth)
  await assert.rejects(membership(people.member, 999), { code: 'org.not_found' })
  const tooMany = Array.from({ length: 51 }, (_, i) => `${10_000 + i}`)
  await assert.rejects(names(tooMany), { name: 'ZodError' })
  auth.world.faults.chat = 'down'
  await assert.rejects(membership(people.member), { code: 'chat.unavailable' })
  await assert.rejects(names([people.member.id]), { code: 'chat.unavailable' })
})
