import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import { changed, changedSubject } from '@guildhall/contracts/event'
import { createOrg, findOrg, listPublishers } from '@guildhall/contracts/orgs'
import {
  addOrg,
  checkSuperadmin,
  deactivateOrg,
  listEveryOrg,
  listMarkedPublishers,
  putOfficerRole,
  putPrefix,
  putPublisher,
} from '@guildhall/contracts/superadmin'
import { createMachineToken, findMachineToken } from '@guildhall/contracts/tokens'
import { people, servers } from '@guildhall/sandbox/demo'
import { until } from '@guildhall/service/testing'
import { sha256 } from '../hash.ts'
import { callerOf, officer, type TestAuth, testAuth } from '../testing.ts'

const superadmin = { kind: 'superadmin' as const, ...callerOf(people.superadmin) }
const rival = { name: 'Rival Club', chat_server_id: servers.rival.id }
const BOT_ROLE = '384402700000000003'
const MEMBER_ROLE = '384402700000000002'

/** What the superadmin does to the demo org, and what the gateway then finds. */
async function opened(t: Parameters<typeof busAs>[0], more: Record<string, string> = {}) {
  const auth = await testAuth(t, more)
  const gateway = await busAs(t, { url: auth.settings.NATS_URL, peer: 'gateway' })
  const client = auth.as({ caller: superadmin })
  const demo = auth.as({ caller: superadmin, org: auth.org })
  const params = { org_id: String(auth.org.id) }
  return {
    ...auth,
    client,
    role: (officer_role_id: string | null) =>
      demo.call(putOfficerRole, { params, body: { officer_role_id } }),
    prefix: (prefix: string) => demo.call(putPrefix, { params, body: { prefix } }),
    publisher: (publisher: boolean) => demo.call(putPublisher, { params, body: { publisher } }),
    deactivate: () => demo.call(deactivateOrg, { params }),
    found: async (prefix: string) => (await ask(gateway, findOrg, { prefix })).org,
    gateway,
  }
}

/** Five more chat servers with the bot, and their ids. */
function moreServers({ world }: Pick<TestAuth, 'world'>) {
  const [guild = assert.fail()] = world.guilds
  const ids = Array.from({ length: 5 }, (_, n) => `30000000${n}`)
  world.guilds.push(...ids.map((id) => ({ ...guild, id, roles: [] })))
  return ids
}

async function actions({ db }: Pick<TestAuth, 'db'>) {
  const rows = await db.selectFrom('outbox').select('payload').orderBy('id').execute()
  return rows.map(({ payload }) => (payload as { action: string }).action)
}

test('the superadmin is told so', async (t) => {
  const { client } = await opened(t)
  const reply = await client.call(checkSuperadmin, {})
  assert.deepEqual(reply.body, { superadmin: true, chat_user_id: people.superadmin.id })
})

test('an org gets a prefix from its name; the same again is answered as it is', async (t) => {
  const auth = await opened(t)
  const first = await auth.client.call(addOrg, { body: rival })
  assert.ok(first.status === 201, JSON.stringify(first.body))
  assert.deepEqual([first.body.prefix, first.body.officer_role_id], ['rival-club', null])
  const again = await auth.client.call(addOrg, { body: rival })
  assert.ok(again.status === 200 && again.body.id === first.body.id)
  const other = await auth.client.call(addOrg, { body: { ...rival, prefix: 'other' } })
  assert.ok(other.status === 409 && other.body.code === 'org.taken')
  assert.deepEqual(await actions(auth), ['auth.org.created'])
})

test('of ten at once that make one org by its name one makes it', async (t) => {
  const { client } = await opened(t)
  const replies = await Promise.all(
    Array.from({ length: 10 }, () => client.call(addOrg, { body: rival })),
  )
  assert.deepEqual(replies.map(({ status }) => status).sort(), [
    ...new Array<number>(9).fill(200),
    201,
  ])
})

test('orgs of one name at once get prefixes of their own', async (t) => {
  const auth = await opened(t)
  const replies = await Promise.all(
    moreServers(auth).map((chat_server_id) =>
      auth.client.call(addOrg, { body: { name: 'Café Søren!', chat_server_id } }),
    ),
  )
  const prefixes = replies.map((reply) => (reply.status === 201 ? reply.body.prefix : ''))
  assert.equal(new Set(prefixes).size, 5)
  assert.ok(
    prefixes.every((prefix) => /^cafe-s-ren(-[2-6])?$/.test(prefix)),
    prefixes.join(),
  )
})

test('the list is paged and shows deactivated orgs too', async (t) => {
  const { client, deactivate } = await opened(t)
  await client.call(addOrg, { body: rival })
  assert.equal((await deactivate()).status, 200)
  const first = await client.call(listEveryOrg, { query: { limit: '1' } })
  assert.ok(first.status === 200)
  const cursor = first.body.next_cursor ?? ''
  const second = await client.call(listEveryOrg, { query: { limit: '1', cursor } })
  assert.ok(second.status === 200 && second.body.next_cursor === null)
  assert.deepEqual(
    [...first.body.organizations, ...second.body.organizations].map((org) => [
      org.prefix,
      org.active,
    ]),
    [
      ['demo', false],
      ['rival-club', true],
    ],
  )
})

test('everyone, roles of bots and roles that are not there make no officers, at no place', async (t) => {
  const { client, role, settings } = await opened(t)
  const operator = await busAs(t, { url: settings.NATS_URL, peer: 'operator' })
  for (const id of [servers.demo.id, BOT_ROLE, servers.rival.officerRoleId]) {
    const reply = await role(id)
    assert.ok(reply.status === 400 && reply.body.code === 'org.officer_role', id)
  }
  for (const officer_role_id of [servers.rival.id, servers.demo.officerRoleId]) {
    const reply = await client.call(addOrg, { body: { ...rival, officer_role_id } })
    assert.equal(reply.status, 400)
    const asked = { ...rival, prefix: 'rival', officer_role_id }
    await assert.rejects(ask(operator, createOrg, asked), { code: 'org.officer_role' })
  }
  const nowhere = { name: 'N', chat_server_id: '999999999999', officer_role_id: MEMBER_ROLE }
  for (const body of [nowhere, { ...nowhere, officer_role_id: null }]) {
    const reply = await client.call(addOrg, { body })
    assert.ok(reply.status === 400 && reply.body.code === 'org.chat_server')
  }
})

test('an officer role changes, and with none the org has no officers', async (t) => {
  const auth = await opened(t)
  const changedTo = await auth.role(MEMBER_ROLE)
  assert.ok(changedTo.status === 200 && changedTo.body.officer_role_id === MEMBER_ROLE)
  const none = await auth.role(null)
  assert.ok(none.status === 200 && none.body.officer_role_id === null)
  assert.deepEqual(await actions(auth), new Array(2).fill('auth.org.officer_role_changed'))
})

test('while the chat platform is away a role is not taken on trust', async (t) => {
  const { client, role, world } = await opened(t)
  world.faults.chat = 'down'
  assert.equal((await role(MEMBER_ROLE)).status, 503)
  const officer_role_id = servers.rival.officerRoleId
  assert.equal((await client.call(addOrg, { body: { ...rival, officer_role_id } })).status, 503)
  assert.equal((await role(null)).status, 200)
})

test('an old prefix stays with its org for ever', async (t) => {
  const auth = await opened(t)
  const { client, prefix, found } = auth
  assert.equal((await prefix('mcp')).status, 400)
  const renamed = await prefix('chess')
  assert.ok(renamed.status === 200 && renamed.body.prefix === 'chess')
  assert.deepEqual([await found('demo'), (await found('chess'))?.id], [null, auth.org.id])
  const taken = await client.call(addOrg, { body: { ...rival, prefix: 'demo' } })
  assert.ok(taken.status === 409 && taken.body.code === 'org.prefix_taken')
  const named = await client.call(addOrg, { body: { ...rival, name: 'Demo' } })
  assert.ok(named.status === 201 && named.body.prefix === 'demo-2')
  assert.equal((await prefix('demo-2')).status, 409)
  assert.equal((await prefix('demo')).status, 200, 'it may go back to its own')
  assert.equal((await prefix('demo')).status, 200)
  const changes = (await actions(auth)).filter((action) => action === 'auth.org.prefix_changed')
  assert.equal(changes.length, 2)
})

test("another org's old prefix is refused to an org that has one already", async (t) => {
  const { as, client, prefix } = await opened(t)
  await prefix('chess')
  const made = await client.call(addOrg, { body: rival })
  assert.ok(made.status === 201)
  const { id, prefix: own } = made.body
  const org = { id, prefix: own, name: 'Rival Club', modules: [], publisher: false }
  const params = { org_id: String(id) }
  const rename = (to: string) =>
    as({ caller: superadmin, org }).call(putPrefix, { params, body: { prefix: to } })
  const taken = await rename('demo')
  assert.ok(taken.status === 409 && taken.body.code === 'org.prefix_taken')
  assert.equal((await rename('new')).status, 200)
  assert.equal((await rename(own)).status, 200, 'its own it may have again')
})

test('an org made at the moment another gives the prefix up does not get it', async (t) => {
  const auth = await opened(t)
  const { client, prefix } = auth
  for (const [n, chat_server_id] of moreServers(auth).entries()) {
    const [from, to] = [`p${n}`, `p${n + 1}`]
    await prefix(from)
    const body = { name: 'New', chat_server_id, prefix: from }
    const [, made] = await Promise.all([prefix(to), client.call(addOrg, { body })])
    assert.equal(made.status, 409)
  }
})

test('a deactivated org is found no more, and its machine tokens do not count', async (t) => {
  const auth = await opened(t)
  const made = await auth.as({ caller: officer(), org: auth.org }).call(createMachineToken, {
    params: { org_id: String(auth.org.id) },
    body: { name: 'app', kind: 'app', scopes: ['org:read'] },
  })
  assert.ok(made.status === 201)
  const token = async () =>
    (await ask(auth.gateway, findMachineToken, { sha256: sha256(made.body.token) })).token
  assert.ok(await token())
  const told: string[] = []
  auth.gateway.nats.subscribe(changedSubject(changed.org, auth.org.id), {
    callback: (_error, { subject }) => {
      told.push(subject)
    },
  })
  await auth.gateway.nats.flush()
  assert.equal((await auth.deactivate()).status, 200)
  assert.deepEqual([await auth.found('demo'), await token()], [null, null])
  await until(() => told.length === 1)
  assert.equal((await auth.deactivate()).status, 404)
  const body = { name: 'Demo', chat_server_id: servers.demo.id }
  const again = await auth.client.call(addOrg, { body })
  assert.ok(again.status === 409 && again.body.code === 'org.deactivated')
  const prefixed = await auth.client.call(addOrg, { body: { ...rival, prefix: 'demo' } })
  assert.equal(prefixed.status, 409)
})

test('publishers are marked and unmarked, and knowledge is told those that count', async (t) => {
  const auth = await opened(t)
  const { client, publisher, org, deactivate } = auth
  const knowledge = await busAs(t, { url: auth.settings.NATS_URL, peer: 'knowledge' })
  const ids = async (...prefixes: string[]) =>
    (await ask(knowledge, listPublishers, { prefixes })).org_ids
  assert.deepEqual(await ids(), [])
  assert.deepEqual(await ids('demo', 'nobody'), [org.id])
  const shown = { org_id: org.id, prefix: 'demo', name: 'Demo Club', publisher: true }
  assert.deepEqual((await publisher(true)).body, shown)
  assert.deepEqual((await publisher(true)).body, shown)
  const listed = await client.call(listMarkedPublishers, {})
  assert.deepEqual(listed.body, { publishers: [shown], next_cursor: null })
  assert.deepEqual(await ids(), [org.id])
  await publisher(false)
  assert.deepEqual(await ids(), [])
  assert.deepEqual(await actions(auth), ['auth.publisher.marked', 'auth.publisher.unmarked'])
  await publisher(true)
  await deactivate()
  assert.deepEqual(await ids('demo'), [])
})
