import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer, ask } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import { findKnowledgeSettings } from '@guildhall/contracts/knowledge-settings'
import { type ModuleName, moduleNames } from '@guildhall/contracts/names'
import { findResolved } from '@guildhall/contracts/notifications'
import {
  createOrg,
  findOrg,
  getModules,
  getOrg,
  listOrgs,
  putModules,
  putOrgSettings,
} from '@guildhall/contracts/orgs'
import { people, servers } from '@guildhall/sandbox/demo'
import { AppError } from '@guildhall/service/errors'
import { officer, signedIn, type TestAuth, testAuth } from '../testing.ts'

async function busOf(
  t: Parameters<typeof busAs>[0],
  { settings }: TestAuth,
  peer: 'operator' | 'gateway' | 'knowledge' | 'ops',
) {
  const bus = await busAs(t, { url: settings.NATS_URL, peer })
  return bus
}

const rival = {
  name: 'Rival',
  prefix: 'rival',
  chat_server_id: servers.rival.id,
  officer_role_id: servers.rival.officerRoleId,
}

test('a person sees the orgs that they may act on', async (t) => {
  const { as } = await testAuth(t)
  for (const [person, count] of [
    [people.officer, 1],
    [people.superadmin, 1],
    [people.stranger, 0],
  ] as const) {
    const reply = await as({ caller: signedIn(person) }).call(listOrgs, {})
    assert.ok(reply.status === 200)
    assert.equal(reply.body.organizations.length, count)
  }
})

test('roles are read only on the servers of the sign-in, however many orgs there are', async (t) => {
  const { as, db } = await testAuth(t)
  const orgs = Array.from({ length: 60 }, (_, n) => ({
    prefix: `club${n}`,
    name: `Club ${n}`,
    chat_server_id: `9990000000000${10_000 + n}`,
    officer_role_id: '1'.repeat(18),
  }))
  await db.insertInto('orgs').values(orgs).execute()
  const server_ids = [servers.demo.id, servers.rival.id]
  await db
    .insertInto('chat_servers')
    .values({ chat_user_id: people.officer.id, server_ids })
    .execute()
  const reply = await as({ caller: signedIn() }).call(listOrgs, {})
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  assert.deepEqual(
    reply.body.organizations.map(({ prefix }) => prefix),
    ['demo'],
  )
})

test('name and description change alone or together', async (t) => {
  const { as, org } = await testAuth(t)
  const client = as({ caller: officer(), org })
  const params = { org_id: String(org.id) }
  await client.call(putOrgSettings, { params, body: { description: 'We meet on Fridays' } })
  await client.call(putOrgSettings, { params, body: { name: 'Renamed' } })
  const reply = await client.call(getOrg, { params })
  assert.ok(reply.status === 200)
  assert.deepEqual([reply.body.name, reply.body.description], ['Renamed', 'We meet on Fridays'])
  for (const body of [{}, { name: 'Demo\r\nBEGIN:VEVENT' }])
    assert.equal((await client.call(putOrgSettings, { params, body })).status, 400)
})

test('an org is shown with what knowledge and the dashboard keep for it, and without that while they do not answer', async (t) => {
  const auth = await testAuth(t)
  const client = auth.as({ caller: officer(), org: auth.org })
  const config = async () => {
    const reply = await client.call(getOrg, { params: { org_id: String(auth.org.id) } })
    assert.ok(reply.status === 200, JSON.stringify(reply.body))
    return reply.body.config
  }
  assert.deepEqual(await config(), {})
  const knowledge = await busOf(t, auth, 'knowledge')
  const asked: number[] = []
  answer(knowledge, findKnowledgeSettings, async ({ org_id }) => {
    asked.push(org_id)
    return { own: { top_k: 3 } }
  })
  await knowledge.nats.flush()
  assert.deepEqual([await config(), asked], [{ knowledge: { top_k: 3 } }, [auth.org.id]])
  const ops = await busOf(t, auth, 'ops')
  answer(ops, findResolved, async ({ org_id }) => ({ ids: [`seen by ${org_id}`] }))
  await ops.nats.flush()
  const dashboard = { resolved: [`seen by ${auth.org.id}`] }
  assert.deepEqual(await config(), { knowledge: { top_k: 3 }, dashboard })
})

test('of ten officers who each switch off another module at once all are heard', async (t) => {
  const { as, org } = await testAuth(t)
  const client = as({ caller: officer(), org })
  const params = { org_id: String(org.id) }
  const off = (name: ModuleName) =>
    client.call(putModules, { params, body: { modules: { [name]: false } } })
  await Promise.all(moduleNames.map(off))
  const reply = await client.call(getModules, { params })
  assert.ok(reply.status === 200)
  assert.ok(
    Object.values(reply.body.modules).every((isOn) => !isOn),
    JSON.stringify(reply.body),
  )
})

test('the same org made twice is one; a taken prefix or server and reserved words are refused', async (t) => {
  const auth = await testAuth(t)
  const bus = await busOf(t, auth, 'operator')
  const made = await Promise.all(
    Array.from({ length: 10 }, () =>
      ask(bus, createOrg, { ...rival, off: ['store' as never].slice(1) }),
    ),
  )
  assert.equal(made.filter(({ created }) => created).length, 1)
  assert.equal(new Set(made.map(({ org }) => org.id)).size, 1)
  const refused = (more: object, code: string) =>
    assert.rejects(
      ask(bus, createOrg, { ...rival, ...more }),
      (error) => error instanceof AppError && error.code === code,
    )
  await refused({ prefix: 'other' }, 'org.taken')
  await refused({ chat_server_id: '284402700000000009' }, 'org.taken')
  await refused({ prefix: 'mcp', chat_server_id: '284402700000000009' }, 'org.prefix_reserved')
  await refused(
    { prefix: 'new', chat_server_id: '284402700000000009', officer_role_id: '284402700000000009' },
    'org.officer_role',
  )
})

test('modules named at the start are off, and the gateway is told so', async (t) => {
  const auth = await testAuth(t)
  await ask(await busOf(t, auth, 'operator'), createOrg, { ...rival, off: ['knowledge'] })
  const { org } = await ask(await busOf(t, auth, 'gateway'), findOrg, { prefix: 'rival' })
  assert.ok(org && !org.modules.includes('knowledge') && org.modules.includes('compute'))
})
