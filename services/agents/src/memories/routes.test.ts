import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import {
  addMemory,
  deleteMemberData,
  deleteMemory,
  listMemories,
} from '@guildhall/contracts/agent-memories'
import { addFacts, getProfile } from '@guildhall/contracts/agent-profile'
import { wholeFile } from '@guildhall/service/testing'
import { MEMBER, OTHER, type TestAgents, testAgents } from '../testing.ts'

const DAY_MS = 86_400_000
let agents: TestAgents
const file = wholeFile()
before(async () => {
  agents = await testAgents(file)
})

const paramsOf = (chat_user_id: string) => ({ params: { chat_user_id } })
let next = 70_000
const somebody = () => String(next++)

async function remembered(chat_user_id: string, body: object, client = agents.agent()) {
  const sent = { kind: 'semantic' as const, content: 'likes tea', ...body }
  const reply = await client.call(addMemory, { ...paramsOf(chat_user_id), body: sent })
  assert.ok(reply.status === 201, JSON.stringify(reply.body))
  return reply.body
}

async function contents(chat_user_id: string, query: object = {}, client = agents.agent()) {
  const reply = await client.call(listMemories, { ...paramsOf(chat_user_id), query })
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  return reply.body.memories.map(({ content }) => content)
}

test('memories come by confidence, then newest first, of the kinds and up to the limit asked for', async () => {
  const who = somebody()
  await remembered(who, { content: 'unsure', confidence: 0.2 })
  await remembered(who, { content: 'old' })
  agents.clock.ahead += 1000
  await remembered(who, { content: 'new', kind: 'task' })
  assert.deepEqual(await contents(who), ['new', 'old', 'unsure'])
  assert.deepEqual(await contents(who, { limit: '1' }), ['new'])
  assert.deepEqual(await contents(who, { kinds: 'semantic,episodic' }), ['old', 'unsure'])
})

test('a memory is gone when it has expired', async () => {
  const who = somebody()
  const { expires_at } = await remembered(who, { expires_in_days: 2 })
  assert.ok(Math.abs(Date.parse(expires_at ?? '') - (Date.now() + 2 * DAY_MS)) < 60_000)
  assert.equal((await contents(who)).length, 1)
  agents.clock.ahead += 2 * DAY_MS + 1000
  assert.deepEqual(await contents(who), [])
})

test('a sensitive memory stands sealed in the database, opens for its member alone and survives a new key', async () => {
  const who = somebody()
  const content = 'has a secret illness'
  const { id, sensitivity } = await remembered(who, { content, sensitivity: 'sensitive' })
  assert.equal(sensitivity, 'sensitive')
  const row = await agents.db
    .selectFrom('memories')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  assert.ok(row.content === null && row.sealed_content?.startsWith('v1.'))
  assert.ok(!JSON.stringify(row).includes('illness'))
  assert.deepEqual(await contents(who), [content])
  const rotated = await agents.replica({ SECRETS_KEY: `${'44'.repeat(32)},${'33'.repeat(32)}` })
  assert.deepEqual(await contents(who, {}, rotated), [content])

  const thief = somebody()
  await agents.db
    .updateTable('memories')
    .set({ chat_user_id: thief })
    .where('id', '=', id)
    .execute()
  assert.deepEqual(await contents(thief), [], 'a row moved to somebody else does not open')
})

test('what cannot be opened is left out before the limit; without SECRETS_KEY nothing sensitive is taken', async () => {
  const who = somebody()
  for (const content of ['s1', 's2', 's3'])
    await remembered(who, { content, sensitivity: 'sensitive' })
  for (const content of ['n1', 'n2']) await remembered(who, { content, confidence: 0.5 })
  for (const SECRETS_KEY of [undefined, '55'.repeat(32)]) {
    const other = await agents.replica({ SECRETS_KEY })
    assert.deepEqual((await contents(who, { limit: '2' }, other)).sort(), ['n1', 'n2'])
    assert.deepEqual((await contents(who, { limit: '1' }, other)).length, 1)
  }
  const keyless = await agents.replica({ SECRETS_KEY: undefined })
  const body = { kind: 'semantic' as const, content: 'x', sensitivity: 'sensitive' as const }
  const refused = await keyless.call(addMemory, { ...paramsOf(who), body })
  assert.ok(refused.status === 503 && refused.body.code === 'secrets_key.unset')
})

test('a memory is deleted once, and audited without its text', async () => {
  const who = somebody()
  const { id: memory_id } = await remembered(who, {})
  const remove = () =>
    agents.agent().call(deleteMemory, { params: { chat_user_id: who, memory_id } })
  assert.deepEqual(await remove(), { status: 200, body: { deleted: true } })
  const again = await remove()
  assert.ok(again.status === 404 && again.body.code === 'memory.not_found')
  const lines = await agents.db.selectFrom('outbox').select('payload').execute()
  const line = lines.find(({ payload }) => JSON.stringify(payload).includes(memory_id))
  assert.ok(JSON.stringify(line).includes('agents.memory.deleted'))
  assert.ok(!JSON.stringify(lines).includes('likes tea'))
})

test("deleting a member's data takes memories and profile, and nobody else's", async () => {
  const [who, other] = [somebody(), somebody()]
  const node = (label: string) => ({ kind: 'thing', label })
  const facts = [{ subject: node('a'), relation: 'is', object: node('b') }]
  for (const one of [who, other]) {
    await remembered(one, {})
    await agents.agent().call(addFacts, { ...paramsOf(one), body: { facts } })
  }
  const remove = () => agents.agent().call(deleteMemberData, paramsOf(who))
  assert.deepEqual((await remove()).body, { deleted: 3 })
  assert.deepEqual((await remove()).body, { deleted: 0 })
  assert.deepEqual(await contents(who), [])
  assert.equal((await contents(other)).length, 1)
  const { body } = await agents.agent().call(getProfile, paramsOf(other))
  assert.ok('relations' in body && body.relations.length === 1)
})

test('memories of the wrong shape are refused', async () => {
  const wrong = [
    { kind: 'rumour' },
    { sensitivity: 'secret' },
    { content: '' },
    { content: 'x'.repeat(20_001) },
    { confidence: 1.1 },
    { confidence: -0.1 },
    { source_seq: 0 },
    { expires_in_days: 0 },
  ]
  for (const more of wrong) {
    const body = { kind: 'semantic', content: 'x', ...more } as never
    const reply = await agents.agent().call(addMemory, { ...paramsOf(OTHER), body })
    assert.equal(reply.status, 400, JSON.stringify(more))
  }
  for (const query of [{ kinds: 'rumour' }, { limit: '501' }, { limit: '0' }]) {
    const reply = await agents.agent().call(listMemories, { ...paramsOf(OTHER), query })
    assert.equal(reply.status, 400, JSON.stringify(query))
  }
  const params = { chat_user_id: 'ada', memory_id: randomUUID() }
  assert.equal((await agents.agent().call(deleteMemory, { params })).status, 400)
  assert.deepEqual(await contents(MEMBER), [])
})
