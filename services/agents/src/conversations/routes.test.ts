import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import {
  addSummary,
  appendMessages,
  endChannel,
  findLatest,
  getConversation,
  listMessages,
  putConversation,
} from '@guildhall/contracts/agent-conversations'
import { wholeFile } from '@guildhall/service/testing'
import { MEMBER, OTHER, type TestAgents, testAgents } from '../testing.ts'

let agents: TestAgents
const file = wholeFile()
before(async () => {
  agents = await testAgents(file)
})

const body = { channel_id: 'general', visibility: 'public' as const }
const saying = (content: string) => ({ messages: [{ role: 'user' as const, content }] })

async function begun(channel_id = 'general') {
  const params = { chat_user_id: MEMBER, conversation_id: randomUUID() }
  const reply = await agents
    .agent()
    .call(putConversation, { params, body: { ...body, channel_id } })
  assert.deepEqual(reply, { status: 201, body: { id: params.conversation_id, state: 'open' } })
  return params
}

test('a conversation is begun once and confirmed for the same member, channel and visibility alone', async () => {
  const params = await begun()
  const put = (more: object, whose = params, org = 1) =>
    agents.agent(org).call(putConversation, { params: whose, body: { ...body, ...more } })
  assert.equal((await put({})).status, 200)
  const wrong = [
    await put({ visibility: 'private' }),
    await put({ channel_id: 'other' }),
    await put({}, { ...params, chat_user_id: OTHER }),
    await put({}, params, 2),
  ]
  const [first] = wrong
  assert.ok(first?.status === 409 && first.body.code === 'conversation.taken')
  for (const reply of wrong) assert.deepEqual(reply, first, 'it says nothing of who')
})

test('of ten members who begin a conversation under one id at once one holds it', async () => {
  const conversation_id = randomUUID()
  const replies = await Promise.all(
    Array.from({ length: 10 }, (_, n) => {
      const params = { chat_user_id: String(40_000 + n), conversation_id }
      return agents.agent().call(putConversation, { params, body })
    }),
  )
  const statuses = replies.map(({ status }) => status).sort()
  assert.deepEqual(statuses, [201, ...new Array(9).fill(409)])
})

test('a conversation is owned by its member, under its visibility', async () => {
  const params = await begun()
  const owned = async (query: object, chat_user_id = MEMBER, org = 1) => {
    const asked = { params: { ...params, chat_user_id }, query }
    const reply = await agents.agent(org).call(getConversation, asked)
    return reply.status === 200 && reply.body.owned
  }
  assert.equal(await owned({}), true)
  assert.equal(await owned({ visibility: 'public' }), true)
  assert.equal(await owned({ visibility: 'private' }), false)
  assert.equal(await owned({}, OTHER), false)
  assert.equal(await owned({}, MEMBER, 2), false)
})

test('twenty writers at once get the numbers 1 to 60 without a gap, each its own in a row', async () => {
  const params = await begun()
  const three = { messages: new Array(3).fill({ role: 'tool', content: { any: ['json', 1] } }) }
  const replies = await Promise.all(
    Array.from({ length: 20 }, () => agents.agent().call(appendMessages, { params, body: three })),
  )
  const seqs = replies.map((reply) => {
    assert.ok(reply.status === 201, JSON.stringify(reply.body))
    const [a = 0] = reply.body.seqs
    assert.deepEqual(reply.body.seqs, [a, a + 1, a + 2])
    return reply.body.seqs
  })
  const all = seqs.flat().toSorted((a, b) => a - b)
  assert.deepEqual(
    all,
    Array.from({ length: 60 }, (_, n) => n + 1),
  )
})

test('the newest summary comes first, then the latest messages that it does not cover', async () => {
  const params = await begun()
  const append = (text: string) =>
    agents.agent().call(appendMessages, { params, body: saying(text) })
  const summarise = (covers: number) =>
    agents.agent().call(addSummary, { params, body: { content: `up to ${covers}`, covers } })
  const read = async (limit?: number) => {
    const query = limit === undefined ? {} : { limit: String(limit) }
    const reply = await agents.agent().call(listMessages, { params, query })
    assert.ok(reply.status === 200)
    return reply.body.messages.map(({ seq, role, content }) => [seq, role, content])
  }
  for (const text of ['one', 'two', 'three']) await append(text)
  assert.deepEqual(await summarise(1), { status: 201, body: { seq: 4 } })
  assert.deepEqual(await summarise(2), { status: 201, body: { seq: 5 } })
  await append('six')
  const [summary, three, six] = [
    [5, 'summary', 'up to 2'],
    [3, 'user', 'three'],
    [6, 'user', 'six'],
  ]
  assert.deepEqual(await read(), [summary, three, six])
  assert.deepEqual(await read(1), [summary, six])
  const early = await summarise(7)
  assert.ok(early.status === 400 && early.body.code === 'summary.covers_unwritten')
  const back = await summarise(1)
  assert.ok(back.status === 409 && back.body.code === 'summary.outdated', JSON.stringify(back))
  assert.deepEqual(await read(), [summary, three, six], 'what is covered stays covered')
  assert.deepEqual(await append('seven'), { status: 201, body: { seqs: [7] } })
})

test('a channel ends with its open conversations; what has ended takes nothing more', async () => {
  const [first, second] = [await begun('den'), await begun('den')]
  const channel = { chat_user_id: MEMBER, channel_id: 'den' }
  const latest = async (query = {}) =>
    (await agents.agent().call(findLatest, { params: channel, query })).body
  await agents.agent().call(appendMessages, { params: first, body: saying('hi') })
  assert.deepEqual(await latest(), { id: first.conversation_id })
  assert.deepEqual(await latest({ visibility: 'private' }), { id: null })
  const end = (chat_user_id: string, org = 1) =>
    agents.agent(org).call(endChannel, { params: { ...channel, chat_user_id } })
  assert.deepEqual((await end(OTHER)).body, { ended: 0 })
  assert.deepEqual((await end(MEMBER, 2)).body, { ended: 0 })
  assert.deepEqual((await end(MEMBER)).body, { ended: 2 })
  assert.deepEqual((await end(MEMBER)).body, { ended: 0 })
  assert.deepEqual(await latest(), { id: null })
  for (const params of [first, second]) {
    const late = await agents.agent().call(appendMessages, { params, body: saying('late') })
    assert.ok(late.status === 409 && late.body.code === 'conversation.ended')
  }
})

test('the same Idempotency-Key adds messages once', async () => {
  const params = await begun()
  const append = () =>
    agents.agent(1, { 'idempotency-key': 'k1' }).call(appendMessages, { params, body: saying('x') })
  const replies = await Promise.all([append(), append(), append()])
  for (const reply of replies) assert.deepEqual(reply, { status: 201, body: { seqs: [1] } })
})

test('messages of the wrong shape are refused whole', async () => {
  const params = await begun()
  const deep = JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`)
  const wrong: [unknown, number][] = [
    [[], 400],
    [new Array(101).fill({ role: 'user', content: 'x' }), 400],
    [[{ role: 'owner', content: 'x' }], 400],
    [[{ role: 'user' }], 400],
    [[{ role: 'user', content: 'x'.repeat(64 * 1024) }], 400],
    [[{ role: 'user', content: 'a\u0000b' }], 400],
    [[{ role: 'user', content: deep }], 400],
    [
      [
        { role: 'user', content: 'x' },
        { role: 'user', content: 'y'.repeat(70_000) },
      ],
      400,
    ],
    [[{ role: 'user', content: 'x'.repeat(1024 * 1024) }], 413],
  ]
  for (const [messages, status] of wrong) {
    const sent = { params, body: { messages } as never }
    const reply = await agents.agent().call(appendMessages, sent)
    assert.equal(reply.status, status, JSON.stringify(reply.body))
  }
  const { body: read } = await agents.agent().call(listMessages, { params })
  assert.deepEqual(read, { messages: [] })
})

test('any JSON comes back as it was sent', async () => {
  const params = await begun()
  const contents = ['', 0, false, null, [], { b: 1, a: [null, { deep: '🎉' }] }, 'null']
  const messages = contents.map((content) => ({ role: 'assistant' as const, content }))
  assert.equal(
    (await agents.agent().call(appendMessages, { params, body: { messages } })).status,
    201,
  )
  const reply = await agents.agent().call(listMessages, { params })
  assert.ok(reply.status === 200)
  assert.equal(
    JSON.stringify(reply.body.messages.map(({ content }) => content)),
    JSON.stringify(contents),
  )
})
