import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import {
  deleteHeld,
  deleteMyConversation,
  deleteMyMemory,
  exportHeld,
  listHeld,
} from '@guildhall/contracts/agent-self'
import { commitTurn } from '@guildhall/contracts/agent-turns'
import { wholeFile } from '@guildhall/service/testing'
import { type TestAgents, testAgents } from '../testing.ts'

let agents: TestAgents
const file = wholeFile()
before(async () => {
  agents = await testAgents(file)
})

const params = { org: 'org1' }
let next = 70_000
const somebody = () => {
  const id = String(next++)
  agents.world.members.add(id)
  return id
}

/** A turn with one of everything, and more messages than a page of the export holds. */
async function talked(chat_user_id: string) {
  const turn = { conversation_id: randomUUID() as string, channel_id: 'den' }
  const message = (_: unknown, n: number) => ({ role: 'user' as const, content: `message ${n}` })
  const body = {
    ...turn,
    visibility: 'private' as const,
    messages: Array.from({ length: 100 }, message),
    summary: { content: 'in short', covers: 7 },
    memories: [
      { kind: 'semantic' as const, content: 'plain' },
      { kind: 'profile' as const, content: 'sealed', sensitivity: 'sensitive' as const },
    ],
    facts: [
      { subject: { kind: 'p', label: 'A' }, relation: 'is', object: { kind: 'p', label: 'B' } },
    ],
    pending: [{ id: randomUUID(), action: { do: 'it' }, payload_hash: 'h' }],
  }
  const reply = await agents.agent().call(commitTurn, { params: { chat_user_id }, body })
  assert.ok(reply.status === 201, JSON.stringify(reply.body))
  return { ...turn, ...reply.body }
}

async function heldBy(who: string) {
  const reply = await agents.member(who).call(listHeld, { params })
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  return reply.body
}

async function exportOf(who: string) {
  const reply = await agents.member(who).call(exportHeld, { params })
  assert.ok(reply.status === 200)
  return JSON.parse(await new Response(ReadableStream.from(reply.body)).text())
}

test('a member sees what is held of them', async () => {
  const who = somebody()
  const { conversation_id } = await talked(who)
  const held = await heldBy(who)
  assert.deepEqual(held.counts, {
    ...{ conversations: 1, memories: 2, nodes: 2, relations: 1, pending: 1 },
  })
  assert.deepEqual(
    held.conversations.map(({ id, state, messages }) => [id, state, messages]),
    [[conversation_id, 'open', 101]],
  )
  assert.deepEqual(held.memories.map(({ content }) => content).sort(), ['plain', 'sealed'])
  assert.deepEqual([held.profile.nodes.length, held.profile.relations.length], [2, 1])
  assert.deepEqual(
    held.pending.map(({ action, state }) => [action, state]),
    [[{ do: 'it' }, 'held']],
  )
})

test('the export has everything, messages and sealed memories too', async () => {
  const who = somebody()
  await talked(who)
  await talked(who)
  const all = await exportOf(who)
  assert.deepEqual([all.chat_user_id, all.organization.prefix], [who, 'org1'])
  const texts = all.conversations.map(({ messages }: { messages: { content: string }[] }) =>
    messages.map(({ content }) => content),
  )
  const expected = [...Array.from({ length: 100 }, (_, n) => `message ${n}`), 'in short']
  assert.deepEqual(texts, [expected, expected])
  assert.equal(all.conversations[0].messages[100].covers, 7)
  const contents = all.memories.map(({ content }: { content: string }) => content)
  assert.deepEqual(contents.sort(), ['plain', 'plain', 'sealed', 'sealed'])
  assert.deepEqual([all.profile.nodes.length, all.profile.relations.length], [2, 1])
  assert.equal(all.pending.length, 2)
})

test('of nobody nothing is held, and the export is still JSON', async () => {
  const who = somebody()
  const { counts } = await heldBy(who)
  assert.deepEqual(Object.values(counts), [0, 0, 0, 0, 0])
  assert.deepEqual((await exportOf(who)).conversations, [])
})

test('a member deletes one conversation, one memory, or all; each is audited', async () => {
  const who = somebody()
  const { conversation_id, memory_ids } = await talked(who)
  const client = agents.member(who)
  const [memory_id = assert.fail()] = memory_ids
  const before = await agents.audited()
  const removeTalk = () =>
    client.call(deleteMyConversation, { params: { ...params, conversation_id } })
  const removeMemory = () => client.call(deleteMyMemory, { params: { ...params, memory_id } })
  for (const remove of [removeTalk, removeMemory]) {
    assert.deepEqual(await remove(), { status: 200, body: { deleted: true } })
    assert.equal((await remove()).status, 404)
  }
  assert.deepEqual((await heldBy(who)).counts, {
    ...{ conversations: 0, memories: 1, nodes: 2, relations: 1, pending: 1 },
  })
  const all = () => client.call(deleteHeld, { params })
  assert.deepEqual(await all(), { status: 200, body: { deleted: 4 } })
  assert.deepEqual(await all(), { status: 200, body: { deleted: 0 } })
  assert.deepEqual(Object.values((await heldBy(who)).counts), [0, 0, 0, 0, 0])
  assert.deepEqual((await agents.audited()).slice(before.length), [
    'agents.conversation.deleted',
    'agents.memory.deleted',
    'agents.member.erased',
    'agents.member.erased',
  ])
})
