import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { answer } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import { listTools, useTool } from '@guildhall/contracts/mcp'
import { callOf } from '@guildhall/contracts/tool'
import { tools } from '@guildhall/contracts/tools'
import { AppError } from '@guildhall/service/errors'
import { agentWith, testMcp } from '../testing.ts'

async function setUp(t: TestContext, ...scopes: string[]) {
  const mcp = await testMcp(t)
  const agent = mcp.as(agentWith(...scopes))
  const use = (name: string, body: Record<string, unknown> = {}) =>
    agent.call(useTool, { params: { name }, body })
  const names = async () => {
    const reply = await agent.call(listTools, {})
    assert.ok(reply.status === 200, JSON.stringify(reply.body))
    return reply.body.tools.map(({ name }) => name)
  }
  const lines = async () => {
    const rows = await mcp.db.selectFrom('outbox').select('payload').orderBy('id').execute()
    return rows.map(({ payload }) => (payload as { details: object }).details)
  }
  return { ...mcp, use, names, lines }
}

const codeOf = (body: object) => ('code' in body ? body.code : undefined)

test('a service that is away is a 503 that says so, and the refused call is told', async (t) => {
  const { use, lines } = await setUp(t, 'knowledge:read')
  const reply = await use('knowledge.sources')
  assert.deepEqual([reply.status, codeOf(reply.body)], [503, 'knowledge.unreachable'])
  assert.deepEqual(await lines(), [
    { tool: 'knowledge.sources', outcome: 'refused', code: 'knowledge.unreachable' },
  ])
})

test('what the service refuses is refused in its words, and a search is told only then', async (t) => {
  const { use, lines, settings } = await setUp(t, 'knowledge:read')
  const search = tools.find(({ name }) => name === 'knowledge.search') ?? assert.fail()
  const knowledge = await busAs(t, { url: settings.NATS_URL, peer: 'knowledge' })
  answer(knowledge, callOf(search), async ({ input, caller }) => {
    assert.deepEqual(caller.scopes, ['knowledge:read'])
    if (input.query === 'no') throw new AppError('unavailable', 'search.unavailable', 'Later')
    return { answer: { results: [], dense: false } }
  })
  await knowledge.nats.flush()
  const found = await use('knowledge.search', { query: 'yes' })
  assert.deepEqual(found.body, { result: { results: [], dense: false } })
  assert.deepEqual(await lines(), [])
  const refused = await use('knowledge.search', { query: 'no' })
  assert.deepEqual([refused.status, codeOf(refused.body)], [503, 'search.unavailable'])
  assert.equal((await lines()).length, 1)
})

test('a token that does not count any more, or whose service is not connected, has no tools', async (t) => {
  const { access, as } = await setUp(t)
  const namesOf = async (token_id: string, ...scopes: string[]) => {
    const asker = agentWith(...scopes)
    const reply = await as({ ...asker, caller: { ...asker.caller, token_id } }).call(listTools, {})
    assert.ok(reply.status === 200)
    return reply.body.tools.map(({ name }) => name)
  }
  const ids = [1, 2, 3, 4].map((n) => `01890000-0000-7000-8000-00000000000${n}`)
  const [first = '', second = '', third = '', fourth = ''] = ids
  assert.equal((await namesOf(first, 'compute:manage')).length, 9)
  access.limits = { podhost: { tools: [] } }
  assert.deepEqual(await namesOf(second, 'compute:manage', 'apps:read'), ['apps.list', 'apps.get'])
  Object.assign(access, { limits: {}, connected: [] })
  assert.deepEqual(await namesOf(third, 'compute:manage', 'apps:deploy'), [])
  access.limits = null
  assert.deepEqual(await namesOf(fourth, 'apps:read'), [])
})

test('names that nobody has are refused alike, whatever they are, and noted no longer than they need be', async (t) => {
  const { use, lines } = await setUp(t, 'org:read')
  for (const name of ['compute.pods', 'constructor', '__proto__', 'x'.repeat(100)]) {
    const reply = await use(name)
    assert.deepEqual([reply.status, codeOf(reply.body)], [404, 'tool.unknown'], name)
  }
  assert.equal((await lines()).length, 4)
})
