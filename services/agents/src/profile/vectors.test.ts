import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, beforeEach, test } from 'node:test'
import { addFacts } from '@guildhall/contracts/agent-profile'
import { commitTurn, readTurnContext } from '@guildhall/contracts/agent-turns'
import { until, wholeFile } from '@guildhall/service/testing'
import { type TestAgents, testAgents } from '../testing.ts'

let agents: TestAgents
const file = wholeFile()
before(async () => {
  agents = await testAgents(file)
})
beforeEach(() => {
  Object.assign(agents.world, { embedder: teaOrNot, model: 'words', slow: Promise.resolve() })
})

const teaOrNot = (text: string) =>
  Array.from({ length: 1024 }, (_, n) => Number(n === (text.includes('tea') ? 1 : 2)))
let next = 80_000
const somebody = () => {
  const chat_user_id = String(next++)
  agents.world.members.add(chat_user_id)
  return { chat_user_id }
}
type Who = ReturnType<typeof somebody>

const fact = {
  subject: { kind: 'person', label: 'Ada' },
  relation: 'likes',
  object: { kind: 'thing', label: 'tea' },
}
const turn = () => ({ conversation_id: randomUUID() as string, visibility: 'private' as const })

/** The models that the member's nodes have vectors of. */
async function models({ chat_user_id }: Who) {
  const nodes = agents.db.selectFrom('nodes').select('vector_model')
  const rows = await nodes.where('chat_user_id', '=', chat_user_id).execute()
  return rows.map(({ vector_model }) => vector_model)
}

/** What a turn is told of nodes like tea. */
async function similar(params: Who) {
  const body = { ...turn(), profile_query: 'tea' }
  const reply = await agents.agent().call(readTurnContext, { params, body })
  assert.ok(reply.status === 200 && reply.body.profile, JSON.stringify(reply.body))
  return reply.body.profile.similar
}

test('new nodes of facts and of turns get their vectors after the commit, without any search', async () => {
  const [first, second] = [somebody(), somebody()]
  await agents.agent().call(addFacts, { params: first, body: { facts: [fact] } })
  const body = { ...turn(), channel_id: 'den', facts: [fact] }
  await agents.agent().call(commitTurn, { params: second, body })
  for (const who of [first, second]) {
    await until(async () => (await models(who)).join() === 'words,words')
    assert.equal((await similar(who))?.[0]?.label, 'tea')
  }
  await agents.settled()
  agents.world.embedded.splice(0)
  await agents.agent().call(addFacts, { params: first, body: { facts: [fact] } })
  await agents.settled()
  assert.deepEqual(agents.world.embedded, [], 'known nodes have theirs')
})

test('a turn that meets vectors of another model compares none and has them made anew', async () => {
  const who = somebody()
  await agents.agent().call(addFacts, { params: who, body: { facts: [fact] } })
  await agents.settled()
  agents.world.model = 'other'
  assert.deepEqual(await similar(who), [])
  await until(async () => (await models(who)).join() === 'other,other')
  assert.equal((await similar(who))?.[0]?.label, 'tea')
})

test('turns that find nodes without a vector queue one job a minute', async () => {
  const who = somebody()
  agents.world.embedder = (text) => {
    if (text.includes(': ')) throw new Error('no passages')
    return teaOrNot(text)
  }
  await agents.agent().call(addFacts, { params: who, body: { facts: [fact] } })
  const runs = async () => {
    const all = await agents.db.selectFrom('job_runs').select('args').execute()
    return all.filter(({ args }) => JSON.stringify(args).includes(who.chat_user_id)).length
  }
  for (let n = 0; n < 5; n++) assert.deepEqual(await similar(who), [])
  assert.ok((await runs()) <= 3, 'of the facts, and of a minute or two')
  agents.clock.ahead += 120_000
  const before = await runs()
  await similar(who)
  assert.equal(await runs(), before + 1)
})

test('a turn waits a second for the embedder, and no failing one costs it more', async () => {
  const who = somebody()
  await agents.agent().call(addFacts, { params: who, body: { facts: [fact] } })
  await agents.settled()
  const slow = Promise.withResolvers<void>()
  agents.world.slow = slow.promise
  const began = performance.now()
  assert.equal(await similar(who), undefined)
  assert.ok(performance.now() - began < 4_000, `${performance.now() - began} ms`)
  slow.resolve()
  agents.world.embedder = () => {
    throw new Error('broken')
  }
  assert.equal(await similar(who), undefined)
  Object.assign(agents.world, { embedder: undefined })
  assert.equal(await similar(who), undefined, 'nor without one')
})

test('a vector is stored for a node of its own member alone', async () => {
  const who = somebody()
  const slow = Promise.withResolvers<void>()
  const { asked } = agents.world
  agents.world.slow = slow.promise
  await agents.agent().call(addFacts, { params: who, body: { facts: [fact] } })
  await until(async () => agents.world.asked > asked)
  const moved = agents.db.updateTable('nodes').set({ org_id: 2 })
  await moved.where('chat_user_id', '=', who.chat_user_id).execute()
  slow.resolve()
  await agents.settled()
  assert.deepEqual(await models(who), [null, null])
})
