import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ask } from '@guildhall/bus/calls'
import { busAs } from '@guildhall/bus/testing'
import { getSource, listSources, putSource } from '@guildhall/contracts/knowledge'
import { addDocument } from '@guildhall/contracts/knowledge-documents'
import { putKnowledgeSettings } from '@guildhall/contracts/knowledge-settings'
import { callOf, type ToolArgs } from '@guildhall/contracts/tool'
import { tools } from '@guildhall/contracts/tools'
import { testKnowledge } from './testing.ts'
import { member, officer } from './testing-bodies.ts'

const TOKEN = {
  token_id: '01890000-0000-7000-8000-00000000000a',
  token_kind: 'agent' as const,
  name: 'helper',
}
const ORG = { id: 1, prefix: 'org1', name: 'Org 1', modules: ['knowledge'], publisher: false }

/** knowledge, and its tools as mcp asks for them with a token of these scopes. */
async function setUp(t: TestContext, scopes: string[]) {
  const knowledge = await testKnowledge(t)
  const mcp = await busAs(t, { url: knowledge.settings.NATS_URL, peer: 'mcp' })
  async function use(name: string, input: Record<string, unknown>, more: Partial<ToolArgs> = {}) {
    const tool = tools.find((one) => one.name === name) ?? assert.fail(name)
    const args = { caller: { ...TOKEN, scopes }, org: ORG, input, preview: false, ...more }
    return (await ask(mcp, callOf(tool), args)).answer as Record<string, never>
  }
  const agent = knowledge.as(member(1))
  return { ...knowledge, use, agent }
}

const DOCUMENT = { key: 'notes/a', title: 'Badgers', text: 'They dig.\n\nAt night.' }

test('mcp cannot lend a token a scope that it does not hold, or a module that is off', async (t) => {
  const { use, agent } = await setUp(t, ['knowledge:read'])
  await assert.rejects(use('knowledge.add_document', DOCUMENT), { code: 'tool.not_allowed' })
  await assert.rejects(use('knowledge.update_settings', { top_k: 3 }), { code: 'tool.not_allowed' })
  await assert.rejects(use('knowledge.sources', {}, { org: { ...ORG, modules: [] } }), {
    code: 'tool.not_allowed',
  })
  const listed = await agent.call(listSources, { query: {} })
  assert.ok(listed.status === 200 && listed.body.sources.length === 0)
  assert.deepEqual(await use('knowledge.sources', {}), listed.body)
})

test('a preview shows what there is and changes nothing; of what there is not it is refused', async (t) => {
  const { use, agent } = await setUp(t, ['knowledge:write'])
  await use('knowledge.add_document', DOCUMENT)
  const preview = await use('knowledge.delete_source', { key: 'notes/a' }, { preview: true })
  assert.match(JSON.stringify(preview), /"title":"Badgers"/)
  const there = await agent.call(getSource, { params: { key: 'notes/a' } })
  assert.equal(there.status, 200)
  await assert.rejects(use('knowledge.delete_source', { key: 'b' }, { preview: true }), {
    code: 'source.not_found',
  })
  assert.deepEqual(await use('knowledge.delete_source', { key: 'notes/a' }), { deleted: true })
})

test('refusals name arguments, and a tool asks within its own org whatever it is sent', async (t) => {
  const { use, as } = await setUp(t, ['knowledge:read', 'knowledge:write'])
  await assert.rejects(use('knowledge.search', { query: '', top_k: 99 }), (error) => {
    const {
      code,
      message,
      details = [],
    } = error as { code: string; message: string; details?: { path: string }[] }
    assert.deepEqual(
      [code, details.map(({ path }) => path)],
      ['request.invalid', ['/query', '/top_k']],
    )
    assert.ok(message.startsWith('/query: '), message)
    return true
  })
  await assert.rejects(use('knowledge.add_document', { ...DOCUMENT, org: 'org2' }), {
    code: 'request.invalid',
  })
  const params = { org: 'org2' }
  const changed = await as(officer(2)).call(putKnowledgeSettings, { params, body: { top_k: 17 } })
  assert.ok(changed.status === 200 && changed.body.settings.top_k === 17)
  const { settings } = await use('knowledge.settings', { org: 'org2', org_id: 2 })
  assert.notEqual((settings as unknown as { top_k: number }).top_k, 17)
  const others = await as(member(2)).call(listSources, { query: {} })
  assert.ok(others.status === 200 && others.body.sources.length === 0)
})

test('an answer that is longer than a message says so', async (t) => {
  const { use, agent } = await setUp(t, ['knowledge:read'])
  const content = 'alpha beta gamma '.repeat(1170)
  const chunks = Array.from({ length: 55 }, (_, ordinal) => ({
    ordinal,
    content: `${ordinal} ${content}`,
  }))
  const body = { category: 'x', title: 'Long', chunks }
  assert.equal((await agent.call(putSource, { params: { key: 'long' }, body })).status, 201)
  await assert.rejects(use('knowledge.search', { query: 'alpha', top_k: 50, window: 5 }), {
    kind: 'too_large',
    code: 'tool.answer_too_large',
  })
  assert.ok('results' in (await use('knowledge.search', { query: 'alpha', top_k: 1 })))
})

test('a text is cut and found as an upload is; the same again changes nothing, another replaces it', async (t) => {
  const { agent, as } = await setUp(t, [])
  const first = await agent.call(addDocument, { body: DOCUMENT })
  assert.ok(first.status === 201, JSON.stringify(first.body))
  const { key, title, category, version } = first.body.source
  assert.deepEqual(
    [key, title, category, version?.chunk_count],
    ['notes/a', 'Badgers', 'documents', 1],
  )
  const again = await agent.call(addDocument, { body: { ...DOCUMENT, category: 'animals' } })
  assert.ok(again.status === 200 && again.body.source.version?.id === version?.id)
  assert.equal(again.body.source.category, 'animals')
  const other = await agent.call(addDocument, { body: { ...DOCUMENT, text: 'They sleep.' } })
  assert.equal(other.status, 201)

  for (const [wrong, status] of [
    [{ text: ' \n' }, 400],
    [{ key: '../a' }, 400],
    [{ title: '' }, 400],
    [{ extra: 1 }, 400],
    [{ text: 'a\u0000b' }, 400],
  ] as const) {
    const reply = await agent.call(addDocument, { body: { ...DOCUMENT, ...wrong } })
    assert.equal(reply.status, status, JSON.stringify(wrong))
  }
  const publicly = { ...DOCUMENT, public: true }
  assert.equal((await as(member(2)).call(addDocument, { body: publicly })).status, 403)
  assert.equal((await as(officer(1)).call(addDocument, { body: DOCUMENT })).status, 403)
})
