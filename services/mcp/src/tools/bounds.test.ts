import assert from 'node:assert/strict'
import { test } from 'node:test'
import { useTool } from '@guildhall/contracts/mcp'
import { cleanUp, until } from '@guildhall/service/testing'
import { agentWith } from '../testing.ts'
import { codeOf, testTools } from '../testing-tools.ts'
import { MOST_AT_ONCE } from './turns.ts'

test('a token has eight calls under way, the ninth is told to wait, and another token is not', async (t) => {
  const { as, use, answerAs, lines } = await testTools(t, ['knowledge:read'])
  const goOn = Promise.withResolvers<void>()
  cleanUp(t, async () => goOn.resolve())
  let asked = 0
  await answerAs('knowledge.sources', async () => {
    asked += 1
    await goOn.promise
    return { sources: [] }
  })
  const underWay = Array.from({ length: MOST_AT_ONCE }, () => use('knowledge.sources'))
  await until(() => asked === 8)
  const ninth = await use('knowledge.sources')
  assert.deepEqual([ninth.status, codeOf(ninth.body)], [429, 'tool.too_many'])
  assert.match(JSON.stringify(ninth.body), /wait for one of them/)

  const one = agentWith('knowledge:read')
  const caller = { ...one.caller, token_id: '01890000-0000-7000-8000-00000000000b' }
  const another = as({ ...one, caller }).call(useTool, {
    params: { name: 'knowledge.sources' },
    body: {},
  })
  await until(() => asked === 9)
  goOn.resolve()
  for (const reply of await Promise.all([...underWay, another])) assert.equal(reply.status, 200)
  assert.equal((await use('knowledge.sources')).status, 200)
  assert.equal((await lines()).length, 10, 'what is over a limit is not noted')
})

test('searches of a token are counted by the minute, whatever else it uses', async (t) => {
  const scopes = ['knowledge:read']
  const { use, answerAs, lines } = await testTools(t, scopes, { RATE_SEARCH_PER_MINUTE: '2' })
  await answerAs('knowledge.search', async () => ({ results: [], dense: false }))
  await answerAs('knowledge.sources', async () => ({ sources: [] }))
  const search = async () => {
    const { status, body } = await use('knowledge.search', { query: 'a' })
    return [status, codeOf(body)]
  }
  assert.deepEqual(await search(), [200, undefined])
  assert.deepEqual(await search(), [200, undefined])
  assert.deepEqual(await search(), [429, 'rate.exceeded'])
  const query = { pack: 'campus', source: 'x', params: {} }
  assert.equal(codeOf((await use('packs.query', query)).body), 'rate.exceeded')
  assert.equal((await use('knowledge.sources')).status, 200)
  assert.equal((await lines()).length, 1)
})
