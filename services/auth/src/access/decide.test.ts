import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import { decideAccess } from '@guildhall/contracts/auth'
import { people } from '@guildhall/sandbox/demo'
import { type TestAuth, testAuth } from '../testing.ts'

async function decider(t: Parameters<typeof busAs>[0], { settings, org }: TestAuth) {
  const bus = await busAs(t, { url: settings.NATS_URL, peer: 'gateway' })
  return (person: { id: string }) =>
    ask(bus, decideAccess, { chat_user_id: person.id, org_id: org.id })
}

test('holders of the officer role and the superadmin may act, members and strangers may not', async (t) => {
  const auth = await testAuth(t)
  const decide = await decider(t, auth)
  const of = async (person: { id: string }) => {
    const { allowed, reason, superadmin } = await decide(person)
    return { allowed, reason, superadmin }
  }
  assert.deepEqual(await of(people.officer), { allowed: true, reason: null, superadmin: false })
  assert.deepEqual(await of(people.superadmin), { allowed: true, reason: null, superadmin: true })
  const denied = { allowed: false, reason: 'not_org_officer', superadmin: false }
  assert.deepEqual(await of(people.member), denied)
  assert.deepEqual(await of(people.stranger), denied)
})

/** Takes every role from a person. */
function takeRoles({ world }: TestAuth, { id }: { id: string }) {
  const members = world.guilds.flatMap((guild) => guild.members)
  for (const member of members) if (member.userId === id) member.roleIds = []
}

test('a decision counts 60 seconds at most, and a lost role counts after them', async (t) => {
  const auth = await testAuth(t)
  const decide = await decider(t, auth)
  const { valid_until } = await decide(people.officer)
  assert.ok(Date.parse(valid_until) - Date.now() <= 60_000)
  takeRoles(auth, people.officer)
  const again = await decide(people.officer)
  assert.deepEqual([again.allowed, again.valid_until], [true, valid_until])
  auth.clock.ahead = 60_001
  assert.equal((await decide(people.officer)).allowed, false)
})

test('an org without an officer role has no officers', async (t) => {
  const auth = await testAuth(t)
  await auth.db.updateTable('orgs').set({ officer_role_id: null }).execute()
  const decide = await decider(t, auth)
  assert.equal((await decide(people.officer)).allowed, false)
})

test('while the chat platform is away the reason is bot_unavailable, and nothing is kept of it', async (t) => {
  const auth = await testAuth(t)
  const decide = await decider(t, auth)
  auth.world.faults.chat = 'down'
  assert.equal((await decide(people.officer)).reason, 'bot_unavailable')
  auth.world.faults.chat = undefined
  assert.equal((await decide(people.officer)).allowed, true)
})
