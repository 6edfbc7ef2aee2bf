import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listTools } from '@guildhall/contracts/mcp'
import { AppError } from '@guildhall/service/errors'
import { agentWith } from '../testing.ts'
import { codeOf, testTools } from '../testing-tools.ts'

test('a service that is away is a 503 that says so, and the refused call is told', async (t) => {
  const { use, lines } = await testTools(t, ['knowledge:read'])
  const reply = await use('knowledge.sources')
  assert.deepEqual([reply.status, codeOf(reply.body)], [503, 'knowledge.unreachable'])
  assert.deepEqual(await lines(), [
    { tool: 'knowledge.sources', outcome: 'refused', code: 'knowledge.unreachable' },
  ])
})

test('what the service refuses is refused in its words, and a search is told only then', async (t) => {
  const { use, lines, answerAs } = await testTools(t, ['knowledge:read'])
  await answerAs('knowledge.search', async ({ input, caller }) => {
    assert.deepEqual(caller.scopes, ['knowledge:read'])
    if (input.query === 'no') throw new AppError('unavailable', 'search.unavailable', 'Later')
    return { results: [], dense: false }
  })
  const found = await use('knowledge.search', { query: 'yes' })
  assert.deepEqual(found.body, { result: { results: [], dense: false } })
  assert.deepEqual(await lines(), [])
  const refused = await use('knowledge.search', { query: 'no' })
  assert.deepEqual([refused.status, codeOf(refused.body)], [503, 'search.unavailable'])
  assert.equal((await lines()).length, 1)
})

test('a refusal for its arguments is told too', async (t) => {
  const { use, lines } = await testTools(t, ['knowledge:read'])
  const reply = await use('knowledge.read_source', {})
  assert.deepEqual([reply.status, codeOf(reply.body)], [400, 'tool.arguments'])
  assert.deepEqual(await lines(), [
    { tool: 'knowledge.read_source', outcome: 'refused', code: 'tool.arguments' },
  ])
})

test('while nobody says what a token may use, its calls are refused and told', async (t) => {
  const { use, lines, auth } = await testTools(t, ['knowledge:read'])
  await auth[Symbol.asyncDispose]()
  const reply = await use('knowledge.sources')
  assert.deepEqual([reply.status, codeOf(reply.body)], [503, 'auth.unreachable'])
  assert.deepEqual(await lines(), [
    { tool: 'knowledge.sources', outcome: 'refused', code: 'auth.unreachable' },
  ])
})

test('a tool whose path is switched off is none', async (t) => {
  const off = {
    DISABLED_ROUTES: '/api/compute/,/api/dashboard/org1/knowledge/,/api/knowledge/search',
  }
  const { use, names } = await testTools(
    t,
    ['compute:manage', 'knowledge:read', 'knowledge:write'],
    off,
  )
  const kept = await names()
  assert.deepEqual(
    kept.filter((name) => name.startsWith('compute.')),
    [],
  )
  assert.ok(kept.includes('knowledge.sources') && !kept.includes('knowledge.search'))
  assert.equal((await use('compute.pods')).status, 404)
})

test('a token that does not count any more, or whose service is not connected, has no tools', async (t) => {
  const { access, as } = await testTools(t, [])
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
  const { use, lines } = await testTools(t, ['org:read'])
  for (const name of ['compute.pods', 'constructor', '__proto__', 'x'.repeat(100)]) {
    const reply = await use(name)
    assert.deepEqual([reply.status, codeOf(reply.body)], [404, 'tool.unknown'], name)
  }
  assert.equal((await lines()).length, 4)
})
