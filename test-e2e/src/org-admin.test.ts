import assert from 'node:assert/strict'
import { test } from 'node:test'
import { putIntegration, testIntegration } from '@guildhall/contracts/integrations'
import { putSource, search } from '@guildhall/contracts/knowledge'
import { listAudit } from '@guildhall/contracts/ops'
import { getOrg } from '@guildhall/contracts/orgs'
import { listSecrets, putSecret } from '@guildhall/contracts/secrets'
import {
  addOrg,
  checkSuperadmin,
  deactivateOrg,
  listEveryOrg,
  putPublisher,
} from '@guildhall/contracts/superadmin'
import { people } from '@guildhall/sandbox/demo'
import { until } from '@guildhall/service/testing'
import { operatorAt } from './run-operator.ts'
import { type TestStack, testStack } from './stack.ts'

const SECOND_MS = 1_000

/** Officers of two clubs, an agent of each, and the superadmin. */
async function clubs(stack: TestStack) {
  const client = async (person: { id: string }) =>
    stack.as((await stack.signIn(person)).access_token)
  const { access_token: demoToken } = await stack.signIn(people.officer)
  const { access_token: rivalToken } = await stack.signIn(people.rivalOfficer)
  const scopes = ['knowledge:read' as const, 'knowledge:write' as const]
  const agent = async (token: string, prefix: string) =>
    stack.as((await stack.machineToken(token, scopes, prefix)).token)
  return {
    officer: stack.as(demoToken),
    agent: await agent(demoToken, 'demo'),
    rivalOfficer: stack.as(rivalToken),
    rivalAgent: await agent(rivalToken, 'rival'),
    superadmin: await client(people.superadmin),
    org_id: String(await stack.orgId(demoToken)),
  }
}

test('the public sources of a club vanish when it publishes no more, and all of it when it is purged', async (t) => {
  const stack = await testStack(t)
  const { superadmin, officer, agent, rivalAgent, org_id } = await clubs(stack)
  const operator = operatorAt(stack)
  const params = { org_id }
  const mark = async (publisher: boolean) => {
    const reply = await superadmin.call(putPublisher, { params, body: { publisher } })
    assert.equal(reply.status, 200, JSON.stringify(reply.body))
  }
  const write = () =>
    agent.call(putSource, {
      params: { key: 'hours' },
      body: {
        category: 'docs',
        title: 'Hours',
        public: true,
        chunks: [{ ordinal: 0, content: 'The zeppelin lounge opens at noon' }],
      },
    })
  const found = async () => {
    const reply = await rivalAgent.call(search, { body: { query: 'zeppelin' } })
    assert.ok(reply.status === 200, JSON.stringify(reply.body))
    return reply.body.results.length
  }

  assert.equal((await write()).status, 403)
  await mark(true)
  await until(async () => (await write()).status === 201, SECOND_MS)
  await until(async () => (await found()) === 1, SECOND_MS)
  await mark(false)
  await until(async () => (await found()) === 0, SECOND_MS)
  await mark(true)
  await until(async () => (await found()) === 1, SECOND_MS)

  const early = await operator('org', 'purge', 'demo', '--yes')
  assert.equal(early.code, 1)
  assert.match(early.err, /Deactivate it first/)
  assert.equal((await superadmin.call(deactivateOrg, { params })).status, 200)
  await until(async () => (await found()) === 0, SECOND_MS)
  await until(async () => (await officer.call(getOrg, { params })).status === 404, SECOND_MS)
  await until(async () => (await write()).status === 401, SECOND_MS)

  assert.equal((await operator('org', 'purge', 'demo')).code, 2)
  for (let n = 0; n < 2; n++) {
    const purged = await operator('org', 'purge', 'demo', '--yes', '--json')
    assert.equal(purged.code, 0, purged.err)
    const { acknowledged, missing } = JSON.parse(purged.out) as Record<string, string[]>
    assert.deepEqual(
      [acknowledged, missing],
      [['knowledge', 'ops', 'compute', 'agents', 'mcp', 'store', 'calendar', 'alerts'], []],
    )
  }
  const left = await superadmin.call(listEveryOrg, {})
  assert.ok(left.status === 200)
  assert.deepEqual(
    left.body.organizations.map(({ prefix }) => prefix),
    ['rival'],
  )
  const done = await until(async () => {
    const log = await superadmin.call(listAudit, { query: { action: 'auth.org.purged' } })
    return log.status === 200 && log.body.entries[0]
  })
  assert.deepEqual([done.source, done.details], ['cli', { prefix: 'demo' }])
})

test("what is the superadmin's and another club's is refused", async (t) => {
  const stack = await testStack(t)
  const { superadmin, officer, rivalOfficer, agent, org_id } = await clubs(stack)
  assert.equal((await superadmin.call(checkSuperadmin, {})).status, 200)
  assert.equal((await officer.call(checkSuperadmin, {})).status, 403)
  assert.equal((await agent.call(checkSuperadmin, {})).status, 401)
  const body = { name: 'Mine', chat_server_id: '284402700000000099' }
  assert.equal((await officer.call(addOrg, { body })).status, 403)

  const secret = { params: { org_id, name: 'github_token' }, body: { value: 'a-value' } }
  assert.equal((await rivalOfficer.call(putSecret, secret)).status, 403)
  assert.equal((await agent.call(putSecret, secret)).status, 401)
  assert.equal((await officer.call(putSecret, secret)).status, 201)
  assert.equal((await rivalOfficer.call(listSecrets, { params: { org_id } })).status, 403)
  const listed = await officer.call(listSecrets, { params: { org_id } })
  assert.ok(listed.status === 200 && listed.body.secrets.some(({ set }) => set))

  const params = { org: 'demo', key: 'code_host' }
  const tried = async () => (await officer.call(testIntegration, { params })).body
  assert.deepEqual(await tried(), {
    ok: false,
    message: 'It refuses the key (401). Make a new one and set it.',
  })
  const fields = { github_token: stack.sandbox.world.keys.codeHost }
  assert.equal((await officer.call(putIntegration, { params, body: { fields } })).status, 200)
  assert.deepEqual(await tried(), { ok: true, message: 'It answers and accepts the key.' })
  assert.equal((await rivalOfficer.call(testIntegration, { params })).status, 403)
})
