import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { endChannel } from '@guildhall/contracts/agent-conversations'
import { holdPending } from '@guildhall/contracts/agent-pending'
import { commitTurn, readTurnContext } from '@guildhall/contracts/agent-turns'
import { wholeFile } from '@guildhall/service/testing'
import { MEMBER, OTHER, type TestAgents, testAgents } from '../testing.ts'

let agents: TestAgents
const file = wholeFile()
before(async () => {
  agents = await testAgents(file)
})

const TABLES = [
  'conversations',
  'messages',
  'memories',
  'nodes',
  'relations',
  'pending_actions',
] as const
const turnOf = () => ({
  conversation_id: randomUUID() as string,
  channel_id: 'general',
  visibility: 'private' as const,
})
const message = (content: string) => ({ role: 'user' as const, content })
const fact = (label: string) => ({
  subject: { kind: 'person', label: 'Ada' },
  relation: 'likes',
  object: { kind: 'thing', label },
})
const pending = (id = randomUUID() as string) => ({ id, action: { do: 'it' }, payload_hash: 'h' })

const commit = (body: object, chat_user_id = MEMBER, headers = {}, org = 1) =>
  agents.agent(org, headers).call(commitTurn, { params: { chat_user_id }, body: body as never })
const context = (body: object, chat_user_id = MEMBER, org = 1) =>
  agents.agent(org).call(readTurnContext, { params: { chat_user_id }, body: body as never })

/** How many rows each table has. */
async function rows() {
  const counts = TABLES.map(async (table) => {
    const all = await agents.db
      .selectFrom(table)
      .select((s) => s.lit(1).as('one'))
      .execute()
    return [table, all.length]
  })
  return Object.fromEntries(await Promise.all(counts))
}

test('a whole turn is written at once and read back in one context', async () => {
  const turn = turnOf()
  const action = pending()
  const committed = await commit({
    ...turn,
    messages: [message('one'), message('two')],
    summary: { content: 'so far', covers: 1 },
    memories: [{ kind: 'semantic', content: 'likes tea', sensitivity: 'sensitive' }],
    facts: [fact('tea'), fact('tea'), fact('jazz')],
    pending: [action],
  })
  assert.ok(committed.status === 201, JSON.stringify(committed.body))
  const { memory_ids, ...others } = committed.body
  assert.equal(memory_ids.length, 1)
  assert.deepEqual(others, { seqs: [1, 2], summary_seq: 3, facts: 2, pending: [action.id] })
  const read = await context(turn)
  assert.ok(read.status === 200, JSON.stringify(read.body))
  const { member, conversation, messages, memories, profile } = read.body
  assert.deepEqual(member, { display_name: 'Ada', role_ids: ['900001'], is_officer: false })
  assert.deepEqual(conversation, { owned: true })
  assert.deepEqual(
    messages?.map(({ seq, role, content }) => [seq, role, content]),
    [
      [3, 'summary', 'so far'],
      [2, 'user', 'two'],
    ],
  )
  assert.deepEqual(
    memories?.map(({ id, content }) => [id, content]),
    [[memory_ids[0], 'likes tea']],
  )
  assert.equal(profile?.nodes.length, 3)
  assert.equal(profile?.relations.length, 2)
  assert.ok(profile && !('similar' in profile))
  assert.deepEqual(await agents.audited(), [], 'turns are not audited')
})

test('a limit of 0 leaves a part out, and a conversation under another visibility is not read', async () => {
  const turn = turnOf()
  await commit({ ...turn, messages: [message('private talk')] })
  const zero = { message_limit: 0, memory_limit: 0, profile_limit: 0, profile_query: 'x' }
  const bare = await context({ ...turn, ...zero })
  assert.deepEqual(Object.keys(bare.body).sort(), ['conversation', 'member'])
  for (const read of [
    await context({ ...turn, visibility: 'public' }),
    await context(turn, OTHER),
    await context(turn, MEMBER, 2),
    await context(turnOf()),
  ]) {
    assert.ok(read.status === 200)
    assert.deepEqual([read.body.conversation, read.body.messages], [{ owned: false }, []])
  }
})

test('a turn of which any part is wrong writes nothing', async () => {
  const held = randomUUID()
  const params = { chat_user_id: OTHER, pending_id: held }
  await agents.agent(2).call(holdPending, { params, body: { action: {}, payload_hash: 'h' } })
  const theirs = turnOf()
  await commit({ ...theirs, messages: [message('theirs')] }, OTHER)
  const before = await rows()
  const good = { messages: [message('x')], facts: [fact('y')], memories: [memory('z')] }
  const wrong: [object, number, string?][] = [
    [{ ...turnOf() }, 400],
    [{ ...turnOf(), ...good, memories: [memory('z'), { kind: 'rumour', content: 'x' }] }, 400],
    [{ ...turnOf(), ...good, messages: [] }, 400],
    [
      { ...turnOf(), ...good, summary: { content: 's', covers: 2 } },
      400,
      'summary.covers_unwritten',
    ],
    [{ ...turnOf(), ...good, pending: [pending(), pending(held)] }, 409, 'pending.taken'],
    [{ ...turnOf(), ...good, pending: Array(2).fill(pending()) }, 409, 'pending.taken'],
    [{ ...theirs, ...good }, 409, 'conversation.taken'],
    [{ ...turnOf(), ...good, conversation_id: 'abc' }, 400],
    [{ ...turnOf(), ...good, channel_id: '..' }, 400],
    [{ ...turnOf(), ...good, facts: Array(101).fill(fact('a')) }, 400],
  ]
  for (const [body, status, code] of wrong) {
    const reply = await commit(body)
    assert.equal(reply.status, status, JSON.stringify(reply.body))
    if (code) assert.equal('code' in reply.body && reply.body.code, code)
  }
  assert.deepEqual(await rows(), before)
})

const memory = (content: string) => ({ kind: 'semantic', content })

test('what has ended takes no messages, but still memories', async () => {
  const turn = { ...turnOf(), channel_id: 'den' }
  await commit({ ...turn, messages: [message('one')] })
  await agents.agent().call(endChannel, { params: { chat_user_id: MEMBER, channel_id: 'den' } })
  const late = await commit({ ...turn, messages: [message('two')] })
  assert.ok(late.status === 409 && late.body.code === 'conversation.ended')
  assert.equal((await commit({ ...turn, memories: [memory('late')] })).status, 201)
})

test('who is not on the server gets 403, and 503 while the chat platform is away; nothing is read or written', async () => {
  const turn = { ...turnOf(), messages: [message('x')] }
  const before = await rows()
  for (const reply of [await commit(turn, '99999'), await context(turn, '99999')])
    assert.ok(reply.status === 403 && reply.body.code === 'member.not_in_server')
  agents.world.chatIsAway = true
  for (const reply of [await commit(turn), await context(turn)])
    assert.ok(reply.status === 503 && reply.body.code === 'chat.unavailable')
  agents.world.chatIsAway = false
  assert.deepEqual(await rows(), before)
})

test('ten turns at once of one conversation keep its numbers without a gap', async () => {
  const turn = turnOf()
  const replies = await Promise.all(
    Array.from({ length: 10 }, (_, n) =>
      commit({
        ...turn,
        messages: [message('a'), message('b')],
        facts: n % 2 ? [fact('p'), fact('q')] : [fact('q'), fact('p')],
      }),
    ),
  )
  const seqs = replies.flatMap((reply) => (reply.status === 201 ? reply.body.seqs : []))
  assert.deepEqual(
    seqs.toSorted((a, b) => a - b),
    Array.from({ length: 20 }, (_, n) => n + 1),
  )
})

test('ten turns of ten conversations that name the same nodes in opposite orders do not collide', async () => {
  const topic = (n: number) => ({ kind: 'topic', label: `topic ${n}` })
  const facts = Array.from({ length: 90 }, (_, n) => ({
    ...{ subject: topic(n), relation: 'leads to', object: topic(n + 1) },
  }))
  for (const round of [facts, facts.map((one) => ({ ...one, relation: 'knows' }))]) {
    const turns = Array.from({ length: 10 }, (_, n) =>
      commit({ ...turnOf(), facts: n % 2 ? round : round.toReversed() }),
    )
    for (const { status } of await Promise.all(turns)) assert.equal(status, 201)
  }
})

test('a turn that is sent again under its Idempotency-Key is written once', async () => {
  const turn = { ...turnOf(), messages: [message('x')], memories: [memory('once')] }
  const key = { 'idempotency-key': randomUUID() }
  const replies = await Promise.all([1, 2, 3].map(() => commit(turn, MEMBER, key)))
  for (const reply of replies) assert.deepEqual(reply, replies[0])
  assert.equal(replies[0]?.status, 201)
})
