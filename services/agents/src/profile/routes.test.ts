import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import {
  addFacts,
  deleteNodes,
  deleteRelation,
  findSimilarNodes,
  getProfile,
  matchRelations,
} from '@guildhall/contracts/agent-profile'
import { AppError } from '@guildhall/service/errors'
import { wholeFile } from '@guildhall/service/testing'
import { type TestAgents, testAgents } from '../testing.ts'

let agents: TestAgents
const file = wholeFile()
before(async () => {
  agents = await testAgents(file)
})

let next = 70_000
const somebody = () => ({ chat_user_id: String(next++) })
type Who = ReturnType<typeof somebody>

const person = { kind: 'person', label: 'Ada' }
const likes = (label: string, confidence = 1) => ({
  subject: person,
  relation: 'likes',
  object: { kind: 'thing', label },
  confidence,
})

async function learn(params: Who, ...facts: ReturnType<typeof likes>[]) {
  const reply = await agents.agent().call(addFacts, { params, body: { facts } })
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  return reply.body.stored
}

async function profile(params: Who, query: object = {}) {
  const reply = await agents.agent().call(getProfile, { params, query })
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  return reply.body
}

test('facts make nodes and relations once, and a known one keeps the higher confidence', async () => {
  const who = somebody()
  assert.equal(await learn(who, likes('tea', 0.5), likes('tea', 0.9), likes('tea', 0.1)), 1)
  assert.equal(await learn(who, likes('tea', 0.3)), 1)
  const { nodes, ...others } = await profile(who)
  assert.deepEqual(nodes.map(({ label }) => label).sort(), ['Ada', 'tea'])
  assert.deepEqual(others, { relations: [likes('tea', 0.9)], next_cursor: null })
})

test('ten agents that learn overlapping facts in any order, while nodes are deleted and searched, do not collide', async () => {
  const who = somebody()
  const labels = Array.from({ length: 90 }, (_, n) => `thing ${n}`)
  await learn(who, ...labels.map((label) => likes(label)))
  const writes = Array.from({ length: 10 }, (_, n) => {
    const facts = labels.map((label) => likes(label))
    const inverse = facts.toReversed().map(({ subject, object }) => ({
      ...{ subject: object, relation: 'liked by', object: subject },
    }))
    const body = { facts: n % 2 ? facts : inverse }
    return agents.agent().call(addFacts, { params: who, body })
  })
  const deletions = labels
    .slice(0, 5)
    .map((label) => agents.agent().call(deleteNodes, { params: who, query: { label } }))
  agents.world.embedder = () => new Array(1024).fill(1)
  const searches = labels
    .slice(0, 5)
    .map((text) => agents.agent().call(findSimilarNodes, { params: who, query: { text } }))
  for (const { status } of await Promise.all([...writes, ...deletions, ...searches]))
    assert.equal(status, 200)
  Object.assign(agents.world, { embedder: undefined, embedded: [] })
  assert.equal(await learn(who, ...labels.map((label) => likes(label))), 90)
})

test('a profile comes page by page, each node and relation once', async () => {
  const who = somebody()
  await learn(who, ...Array.from({ length: 7 }, (_, n) => likes(`thing ${n}`)))
  const seen: string[] = []
  let cursor: string | undefined
  do {
    const page = await profile(who, { limit: '4', ...(cursor && { cursor }) })
    assert.ok(page.nodes.length + page.relations.length <= 4)
    seen.push(...[...page.nodes, ...page.relations].map((item) => JSON.stringify(item)))
    cursor = page.next_cursor ?? undefined
  } while (cursor)
  assert.equal(seen.length, 8 + 7)
  assert.equal(new Set(seen).size, seen.length)
  const { next_cursor } = await profile(who, { limit: '4' })
  const query = { limit: '4', cursor: String(next_cursor) }
  const foreign = await agents.agent().call(getProfile, { params: somebody(), query })
  assert.ok(foreign.status === 400 && foreign.body.code === 'cursor.invalid')
})

test('relations match by the label of their subject, whatever the case', async () => {
  const who = somebody()
  await learn(who, likes('tea'))
  agents.clock.ahead += 1000
  await learn(who, { ...likes('jazz'), relation: 'Plays' })
  await learn(who, { ...likes('x'), subject: { kind: 'place', label: 'ÄDA 100%' } })
  const match = async (query: { subject: string; relation?: string }) => {
    const reply = await agents.agent().call(matchRelations, { params: who, query })
    assert.ok(reply.status === 200)
    return reply.body.relations.map(({ object }) => object.label)
  }
  assert.deepEqual(await match({ subject: 'aDA' }), ['jazz', 'tea'])
  assert.deepEqual(await match({ subject: 'ada', relation: 'PLAYS' }), ['jazz'])
  assert.deepEqual(await match({ subject: 'äda 100%' }), ['x'])
  assert.deepEqual(await match({ subject: '%' }), [])
})

test('a relation is deleted alone, a node with its relations', async () => {
  const who = somebody()
  await learn(who, likes('tea'), likes('jazz'))
  const { confidence: _, ...tea } = likes('tea')
  const remove = () => agents.agent().call(deleteRelation, { params: who, body: tea })
  assert.deepEqual(await remove(), { status: 200, body: { deleted: true } })
  const again = await remove()
  assert.ok(again.status === 404 && again.body.code === 'relation.not_found')
  const left = await profile(who)
  assert.deepEqual([left.nodes.length, left.relations.length], [3, 1])
  const removeNode = (label: string) =>
    agents.agent().call(deleteNodes, { params: who, query: { label } })
  assert.deepEqual((await removeNode('Ada')).body, { deleted: 1 })
  assert.deepEqual((await removeNode('Ada')).body, { deleted: 0 })
  assert.deepEqual((await profile(who)).relations, [])
})

test('without an embedder similar nodes are 503; with one the nearest come first, embedded once per model', async () => {
  const who = somebody()
  await learn(who, likes('tea'), likes('jazz'))
  const similar = (text: string, limit = '2') =>
    agents.agent().call(findSimilarNodes, { params: who, query: { text, limit } })
  await agents.settled() // the job finds no embedder
  const none = await similar('tea')
  assert.ok(none.status === 503 && none.body.code === 'embeddings.unset')
  const { world } = agents
  const words = ['tea', 'jazz', 'Ada']
  world.embedder = (text) =>
    Array.from({ length: 1024 }, (_, n) => Number(words[n] ? text.includes(words[n]) : n === 3))
  const found = await similar('some jazz')
  assert.ok(found.status === 200, JSON.stringify(found.body))
  const [first, second] = found.body.nodes
  assert.deepEqual([first?.kind, first?.label, found.body.nodes.length], ['thing', 'jazz', 2])
  assert.ok(Math.abs(first?.distance ?? 1) < 1e-6 && (second?.distance ?? 0) > 0.4)
  assert.deepEqual(world.embedded.splice(0).sort(), [
    'person: Ada',
    'some jazz',
    'thing: jazz',
    'thing: tea',
  ])
  await similar('tea')
  assert.deepEqual(world.embedded.splice(0), ['tea'])
  world.model = 'other'
  await similar('tea')
  assert.equal(world.embedded.length, 4)
})

test('vectors of an earlier model are compared with nothing', async () => {
  const who = somebody()
  const { world } = agents
  world.embedder = () => new Array(1024).fill(1)
  await learn(who, likes('tea'))
  await agents.settled()
  const similar = async () => {
    const sent = { params: who, query: { text: 'tea' } }
    const reply = await agents.agent().call(findSimilarNodes, sent)
    assert.ok(reply.status === 200, JSON.stringify(reply.body))
    return reply.body.nodes.length
  }
  assert.equal(await similar(), 2)
  world.model = 'newest'
  world.embedder = (text) => {
    if (text.includes(': ')) throw new AppError('upstream', 'embeddings.failed', 'No passages')
    return new Array(1024).fill(1)
  }
  assert.equal(await similar(), 0)
  world.embedder = undefined
})

test('facts of the wrong shape are refused whole', async () => {
  const who = somebody()
  const wrong: unknown[] = [
    [],
    new Array(101).fill(likes('x')),
    [likes('ok'), { ...likes('x'), relation: 'r'.repeat(201) }],
    [{ ...likes('x'), subject: { kind: 'k'.repeat(101), label: 'x' } }],
    [likes('l'.repeat(501))],
    [likes('x', 2)],
    [{ ...likes('x'), object: 'x' }],
  ]
  for (const facts of wrong) {
    const sent = { params: who, body: { facts } as never }
    assert.equal((await agents.agent().call(addFacts, sent)).status, 400, JSON.stringify(facts))
  }
  assert.deepEqual(await profile(who), { nodes: [], relations: [], next_cursor: null })
  const longest = { kind: '𝕜'.repeat(50), label: '🎉'.repeat(250) }
  assert.equal(await learn(who, { ...likes('x'), object: longest }), 1)
})
