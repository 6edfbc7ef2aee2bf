import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer } from '@guildhall/bus/calls'
import { tellChanged } from '@guildhall/bus/changed'
import { busAs } from '@guildhall/bus/testing'
import { changed } from '@guildhall/contracts/event'
import { listTools } from '@guildhall/contracts/mcp'
import { callOf } from '@guildhall/contracts/tool'
import { tools } from '@guildhall/contracts/tools'
import { AppError } from '@guildhall/service/errors'
import { until } from '@guildhall/service/testing'
import { agentWith } from '../testing.ts'
import { codeOf, testTools } from '../testing-tools.ts'

/** Far less than the ten seconds that what auth said is kept. */
const AT_ONCE_MS = 3_000

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

test('an answer that a service was missing for says which', async (t) => {
  const { use, settings } = await testTools(t, ['compute:manage'])
  const pods = tools.find(({ name }) => name === 'compute.pods') ?? assert.fail()
  const compute = await busAs(t, { url: settings.NATS_URL, peer: 'compute' })
  answer(compute, callOf(pods), async () => ({ answer: { pods: [] }, degraded: 'podhost' }))
  await compute.nats.flush()
  assert.deepEqual((await use('compute.pods')).body, { result: { pods: [] }, degraded: 'podhost' })
})

test('a refusal for its arguments is told too', async (t) => {
  const { use, lines } = await testTools(t, ['knowledge:read'])
  const reply = await use('knowledge.read_source', {})
  assert.deepEqual([reply.status, codeOf(reply.body)], [400, 'tool.arguments'])
  assert.deepEqual(await lines(), [
    { tool: 'knowledge.read_source', outcome: 'refused', code: 'tool.arguments' },
  ])
})

test('a text that takes longer to embed than a tool may is refused, and it is said what to do', async (t) => {
  const { use, answerAs } = await testTools(t, ['knowledge:write'])
  await answerAs('knowledge.add_document', async () => ({ source: {} }))
  const document = { key: 'a', title: 'A', text: 'a'.repeat(32_768) }
  assert.equal((await use('knowledge.add_document', document)).status, 200)
  const reply = await use('knowledge.add_document', { ...document, text: `${document.text}a` })
  assert.deepEqual([reply.status, codeOf(reply.body)], [400, 'tool.arguments'])
  assert.match(JSON.stringify(reply.body), /several documents, or send it to POST/)
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
  const ids = [1, 2, 3, 4, 5].map((n) => `01890000-0000-7000-8000-00000000000${n}`)
  const [first = '', second = '', third = '', fourth = '', fifth = ''] = ids
  assert.equal((await namesOf(first, 'compute:manage')).length, 9)
  access.limits = { podhost: { tools: [] } }
  const ofApps = ['apps:read', 'apps:manage', 'apps:deploy']
  assert.deepEqual(await namesOf(second, 'compute:manage', ...ofApps), [
    'apps.list',
    'apps.get',
    'apps.register',
    'apps.delete',
  ])
  access.limits = { code_host: { tools: [] } }
  assert.deepEqual(await namesOf(fifth, 'apps:manage'), ['apps.delete', 'apps.rollback'])
  Object.assign(access, { limits: {}, connected: [] })
  assert.deepEqual(await namesOf(third, 'compute:manage', 'apps:deploy', 'apps:manage'), [
    'apps.register',
    'apps.delete',
  ])
  access.limits = null
  assert.deepEqual(await namesOf(fourth, 'apps:read'), [])
})

test('what changes of an org or a token counts long before its tools are asked for anew', async (t) => {
  const { access, auth, names } = await testTools(t, ['compute:manage'])
  const none = async () => (await names()).length === 0
  assert.equal((await names()).length, 9)
  access.connected = []
  assert.equal((await names()).length, 9, 'what is known is kept for ten seconds')
  tellChanged(auth, changed.org, 1)
  await until(none, AT_ONCE_MS)
  access.connected = ['podhost']
  tellChanged(auth, changed.machineToken, 'any')
  await until(async () => !(await none()), AT_ONCE_MS)
})

test('names that nobody has are refused alike, whatever they are, and noted no longer than they need be', async (t) => {
  const { use, lines } = await testTools(t, ['org:read'])
  for (const name of ['compute.pods', 'constructor', '__proto__', 'x'.repeat(100)]) {
    const reply = await use(name)
    assert.deepEqual([reply.status, codeOf(reply.body)], [404, 'tool.unknown'], name)
  }
  assert.equal((await lines()).length, 4)
})
