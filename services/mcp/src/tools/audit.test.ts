import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '@guildhall/service/errors'
import { until } from '@guildhall/service/testing'
import { codeOf, testTools } from '../testing-tools.ts'

const WRITES = 'knowledge.crawl_now'
const said = (outcome: string, code: string | null = null) => ({ tool: WRITES, outcome, code })

test('nobody hears what a tool found before its line is in the audit log', async (t) => {
  const { use, lines, answerAs, lockOutbox } = await testTools(t, ['knowledge:read'])
  await answerAs('knowledge.sources', async () => ({ sources: [] }))
  const lock = await lockOutbox()
  let heard = false
  const reply = use('knowledge.sources').finally(() => {
    heard = true
  })
  const early = reply.then(({ status, body }) => assert.fail(`${status} ${JSON.stringify(body)}`))
  await Promise.race([lock.waits(), early])
  assert.equal(heard, false)
  await lock.letGo()
  assert.equal((await reply).status, 200)
  assert.deepEqual(await lines(), [{ tool: 'knowledge.sources', outcome: 'done', code: null }])
})

test('a tool that writes is not asked before the line that says so is in the audit log', async (t) => {
  const { use, lines, answerAs, lockOutbox } = await testTools(t, ['knowledge:write'])
  let asked = 0
  await answerAs(WRITES, async () => ({ asked: ++asked }))
  const lock = await lockOutbox()
  const reply = use(WRITES, { key: 'a' })
  await lock.waits()
  assert.equal(asked, 0)
  await lock.letGo()
  assert.equal((await reply).status, 200)
  assert.deepEqual(await lines(), [said('asked'), said('done')])
})

test('what was done is answered while its second line cannot be written, and the line follows', async (t) => {
  const { use, lines, answerAs, lockOutbox } = await testTools(t, ['knowledge:write'])
  const locks: Awaited<ReturnType<typeof lockOutbox>>[] = []
  await answerAs(WRITES, async () => {
    locks.push(await lockOutbox())
    return { queued: true }
  })
  const reply = await use(WRITES, { key: 'a' })
  assert.deepEqual([reply.status, reply.body], [200, { result: { queued: true } }])
  assert.equal(locks.length, 1)
  for (const lock of locks) await lock.letGo()
  await until(async () => (await lines()).length === 2)
  assert.deepEqual(await lines(), [said('asked'), said('done')])
})

test('what a tool that writes was refused stands after that it was asked', async (t) => {
  const { use, lines, answerAs } = await testTools(t, ['knowledge:write'])
  await answerAs(WRITES, async () => {
    throw new AppError('not_found', 'source.not_found', 'There is no such source')
  })
  assert.equal((await use(WRITES, { key: 'a' })).status, 404)
  assert.deepEqual(await lines(), [said('asked'), said('refused', 'source.not_found')])
})

test('of a tool that does not answer in time it is told that nobody knows, and never that it was refused', async (t) => {
  const scopes = ['knowledge:read', 'knowledge:write']
  const { use, lines, answerAs } = await testTools(t, scopes, { TOOL_DEADLINE_MS: '200' })
  const never = new Promise<never>(() => {})
  await answerAs(WRITES, () => never)
  await answerAs('knowledge.sources', () => never)
  const reply = await use(WRITES, { key: 'a' })
  assert.deepEqual([reply.status, codeOf(reply.body)], [503, 'tool.unanswered'])
  assert.match(JSON.stringify(reply.body), /whether it was done is unknown/)
  assert.deepEqual(await lines(), [said('asked'), said('unknown', 'tool.unanswered')])
  assert.match(JSON.stringify((await use('knowledge.sources')).body), /in time; ask for less/)
})

test('a line has the status that a refused call was answered with, and none of what was done', async (t) => {
  const scopes = ['knowledge:read', 'knowledge:write']
  const { use, statuses, answerAs } = await testTools(t, scopes, { TOOL_DEADLINE_MS: '200' })
  await answerAs(WRITES, async ({ input }) => {
    if (input.key === 'a') return { queued: true }
    if (input.key === 'b') throw new AppError('not_found', 'source.not_found', 'There is none')
    return await new Promise<never>(() => {})
  })
  const calls = [{ key: 'a' }, { key: 'b' }, { key: 'c' }, { key: 1 }]
  const told = []
  for (const body of calls) told.push((await use(WRITES, body)).status)
  assert.deepEqual(told, [200, 404, 503, 400])
  assert.deepEqual(await statuses(), [null, null, null, 404, null, 503, 400])
})
