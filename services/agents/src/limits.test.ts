import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import {
  appendMessages,
  listMessages,
  putConversation,
} from '@guildhall/contracts/agent-conversations'
import { addMemory, listMemories } from '@guildhall/contracts/agent-memories'
import { holdPending } from '@guildhall/contracts/agent-pending'
import { addFacts } from '@guildhall/contracts/agent-profile'
import { commitTurn, readTurnContext } from '@guildhall/contracts/agent-turns'
import { wholeFile } from '@guildhall/service/testing'
import { sql } from 'kysely'
import { MEMBER, type TestAgents, testAgents } from './testing.ts'

let agents: TestAgents
const file = wholeFile()
before(async () => {
  agents = await testAgents(file)
})

type Answer = Promise<{ status: number; body: object }>
const MIB = 1024 * 1024
const place = { channel_id: 'den', visibility: 'private' as const }
let next = 60_000
const somebody = () => {
  const chat_user_id = String(next++)
  agents.world.members.add(chat_user_id)
  return { chat_user_id }
}

test('the messages of an answer are 1 MiB at most, the newest, and the summary besides', async () => {
  const turn = { conversation_id: randomUUID() as string, ...place }
  const params = { chat_user_id: MEMBER }
  const content = 'ä'.repeat(30_000) // 60 002 bytes of JSON
  const body = { ...turn, messages: new Array(15).fill({ role: 'user', content }) }
  const first = { ...body, summary: { content: 'so far', covers: 1 } }
  for (const sent of [first, body, body])
    assert.equal((await agents.agent().call(commitTurn, { params, body: sent })).status, 201)
  const wanted = { ...turn, message_limit: 500, memory_limit: 0, profile_limit: 0 }
  const read = await agents.agent().call(readTurnContext, { params, body: wanted })
  assert.ok(read.status === 200, JSON.stringify(read.body))
  const [summary, ...rest] = read.body.messages ?? []
  assert.equal(summary?.role, 'summary')
  const most = Math.floor(MIB / 60_002)
  const newest = Array.from({ length: most }, (_, n) => 46 - most + 1 + n)
  assert.deepEqual(
    rest.map(({ seq }) => seq),
    newest,
  )
  const listed = await agents.agent().call(listMessages, {
    params: { ...params, conversation_id: turn.conversation_id },
    query: { limit: '500' },
  })
  assert.ok(listed.status === 200)
  assert.deepEqual(listed.body.messages, read.body.messages)
  await agents.db.updateTable('messages').set({ bytes: null }).execute()
  const older = await agents.agent().call(readTurnContext, { params, body: wanted })
  assert.deepEqual(older, read, 'rows from before bytes were noted')
})

test('the memories of an answer are 1 MiB at most, the best, sealed ones among them', async () => {
  const params = somebody()
  const content = 'ä'.repeat(20_000)
  const memory = (_: unknown, n: number) => ({
    ...{ kind: 'task' as const, content, confidence: n / 100 },
    sensitivity: n % 2 ? ('normal' as const) : ('sensitive' as const),
  })
  for (let n = 0; n < 3; n++) {
    const memories = Array.from({ length: 20 }, memory)
    const body = { conversation_id: randomUUID() as string, ...place, memories }
    assert.equal((await agents.agent().call(commitTurn, { params, body })).status, 201)
  }
  const read = await agents.agent().call(listMemories, { params, query: { limit: '500' } })
  assert.ok(read.status === 200)
  const confidences = read.body.memories.map(({ confidence }) => Math.round(confidence * 100))
  assert.deepEqual(
    confidences,
    Array.from({ length: 26 }, (_, n) => 19 - Math.floor(n / 3)),
  )
})

/** Adds rows to a table until `count` are the member's. */
const fill = (who: { chat_user_id: string }, count: number, columns: string, values: string) =>
  sql`insert into ${sql.raw(columns.split(' ')[0] ?? '')} (org_id, chat_user_id, ${sql.raw(columns.slice(columns.indexOf(' ')))})
    select 1, ${who.chat_user_id}, ${sql.raw(values)} from generate_series(1, ${count}) as n`.execute(
    agents.db,
  )

const facts = (...labels: string[]) => ({
  facts: labels.map((label) => ({
    subject: { kind: 'n', label: '1' },
    relation: 'is',
    object: { kind: 'n', label },
  })),
})

test('a member has at most so many conversations, memories and actions', async () => {
  const who = somebody()
  const row = 'gen_random_uuid(), now(), now()'
  await fill(
    who,
    4_999,
    'conversations id, created_at, updated_at, channel_id, visibility',
    `${row}, 'a', 'public'`,
  )
  await fill(
    who,
    4_999,
    'memories id, created_at, kind, content, confidence',
    "gen_random_uuid(), now(), 'task', 'x', 1",
  )
  const begin = () =>
    agents.agent().call(putConversation, {
      params: { ...who, conversation_id: randomUUID() },
      body: place,
    })
  const action = "gen_random_uuid(), now(), now(), '{}', 'h'"
  await fill(who, 1_999, 'pending_actions id, created_at, expires_at, action, payload_hash', action)
  const hold = () =>
    agents.agent().call(holdPending, {
      params: { ...who, pending_id: randomUUID() },
      body: { action: {}, payload_hash: 'h' },
    })
  const body = { kind: 'task' as const, content: 'x' }
  const remember = () => agents.agent().call(addMemory, { params: who, body })
  for (const [add, code] of [
    [begin, 'conversation.too_many'],
    [remember, 'memory.too_many'],
    [hold, 'pending.too_many'],
  ] as const) {
    const replies = await Promise.all(Array.from({ length: 10 }, (): Answer => add()))
    const refused = replies.filter(({ status }) => status !== 201)
    assert.equal(refused.length, 9, code)
    for (const { status, body: told } of refused)
      assert.deepEqual([status, 'code' in told && told.code], [409, code])
  }
})

test('a profile has at most so many nodes and relations; what is known may still be said', async () => {
  const who = somebody()
  await fill(
    who,
    9_999,
    'nodes id, updated_at, kind, label',
    "gen_random_uuid(), now(), 'n', n::text",
  )
  const say = async (...labels: string[]) => {
    const reply = await agents.agent().call(addFacts, { params: who, body: facts(...labels) })
    return reply.status === 200 ? reply.status : 'code' in reply.body && reply.body.code
  }
  assert.equal(await say('new one', 'new two'), 'node.too_many')
  assert.equal(await say('new one', '2'), 200)
  assert.equal(await say('new two'), 'node.too_many')
  await sql`insert into relations (id, org_id, chat_user_id, subject, relation, object, confidence)
    select gen_random_uuid(), 1, ${who.chat_user_id}, a.id, 'has', b.id, 1
    from nodes as a, nodes as b where a.label in ('1', '2') and a.chat_user_id = ${who.chat_user_id}
      and b.chat_user_id = ${who.chat_user_id} order by a.id, b.id limit 19997`.execute(agents.db)
  assert.equal(await say('3'), 200)
  assert.equal(await say('4'), 'relation.too_many')
  assert.equal(await say('3', '2'), 200)
})

test('a conversation takes so many messages and no more', async () => {
  const params = { ...somebody(), conversation_id: randomUUID() as string }
  await agents.agent().call(putConversation, { params, body: place })
  await agents.db
    .updateTable('conversations')
    .set({ last_seq: 19_998 })
    .where('id', '=', params.conversation_id)
    .execute()
  const append = (count: number) => {
    const messages = new Array(count).fill({ role: 'user', content: 'x' })
    return agents.agent().call(appendMessages, { params, body: { messages } })
  }
  const full = await append(3)
  assert.ok(full.status === 409 && full.body.code === 'conversation.full', JSON.stringify(full))
  assert.deepEqual((await append(2)).body, { seqs: [19_999, 20_000] })
  assert.equal((await append(1)).status, 409)
})
