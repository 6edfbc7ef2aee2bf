import assert from 'node:assert/strict'
import { test } from 'node:test'
import { putSource, search } from '@guildhall/contracts/knowledge'
import { putKnowledgeSettings, type SettingsChange } from '@guildhall/contracts/knowledge-settings'
import { testKnowledge } from '../testing.ts'
import { body, member, officer, vectorAt, vectorBody } from '../testing-bodies.ts'
import { testEmbedder } from '../testing-embedder.ts'

type Knowledge = Awaited<ReturnType<typeof testKnowledge>>

async function set({ as }: Knowledge, change: SettingsChange) {
  const args = { params: { org: 'org1' }, body: change }
  assert.equal((await as(officer(1)).call(putKnowledgeSettings, args)).status, 200)
}

async function find({ as }: Knowledge, asked: object = {}) {
  const reply = await as(member(1)).call(search, { body: { query: 'fox', ...asked } })
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  const { results, dense } = reply.body
  return { dense, contents: results.map(({ content }) => content), results }
}

test('the mode says which searches run', async (t) => {
  const knowledge = await testKnowledge(t)
  const rows: [string, number][] = [
    ['a fox', 90],
    ['near', 0],
  ]
  const alpha = knowledge.as(member(1))
  await alpha.call(putSource, { params: { key: 'a' }, body: vectorBody('m1', ...rows) })
  const own = { embedding: vectorAt(0), embedding_model: 'm1' }
  const seen = async (mode: SettingsChange['mode'], asked = {}) => {
    await set(knowledge, { mode })
    const { dense, contents } = await find(knowledge, asked)
    return [dense, ...contents]
  }
  assert.deepEqual(await seen('hybrid', own), [true, 'a fox', 'near'])
  assert.deepEqual(await seen('text', own), [false, 'a fox'])
  assert.deepEqual(await seen('vector', own), [true, 'near'])
  for (const mode of ['hybrid', 'text', 'vector'] as const)
    assert.deepEqual(await seen(mode), [false, 'a fox']) // no embedder
})

test('in mode text the embedder is not asked; in mode vector words do while it fails', async (t) => {
  const { world, settings } = await testEmbedder(t)
  const knowledge = await testKnowledge(t, settings)
  const alpha = knowledge.as(member(1))
  await alpha.call(putSource, { params: { key: 'a' }, body: body('a fox') })
  const asked = world.asked.length
  await set(knowledge, { mode: 'text' })
  assert.equal((await find(knowledge)).dense, false)
  assert.equal(world.asked.length, asked)
  await set(knowledge, { mode: 'vector' })
  world.broken = { status: 500, body: '' }
  const { dense, contents } = await find(knowledge)
  assert.deepEqual([dense, contents], [false, ['a fox']])
})

test('top_k, window, max_distance and rrf_k are those of the org where the caller says nothing', async (t) => {
  const knowledge = await testKnowledge(t)
  const alpha = knowledge.as(member(1))
  await alpha.call(putSource, {
    params: { key: 'a' },
    body: body('fox fox', 'two', 'and a third fox'),
  })
  await set(knowledge, { top_k: 1, rrf_k: 1 })
  const first = await find(knowledge)
  assert.deepEqual([first.contents, first.results[0]?.score], [['fox fox'], 1 / 2])
  assert.equal((await find(knowledge, { top_k: 2 })).contents.length, 2)
  await set(knowledge, { window: 1 })
  assert.deepEqual((await find(knowledge)).contents, ['fox fox\n\ntwo'])
  assert.deepEqual((await find(knowledge, { window: 0 })).contents, ['fox fox'])

  const rows: [string, number][] = [['sixty degrees', 60]]
  await alpha.call(putSource, { params: { key: 'b' }, body: vectorBody('m1', ...rows) })
  const near = { query: 'x', embedding: vectorAt(0), embedding_model: 'm1' }
  await set(knowledge, { max_distance: 0.51 })
  assert.deepEqual((await find(knowledge, near)).contents, ['sixty degrees'])
  await set(knowledge, { max_distance: 0.49 })
  assert.deepEqual((await find(knowledge, near)).contents, [])
})

test('a weak embedder counts as much as its weight says, also with a vector that the caller made', async (t) => {
  const { settings } = await testEmbedder(t)
  for (const weight of [0.2, 0]) {
    const knowledge = await testKnowledge(t, { ...settings, EMBEDDINGS_WEIGHT: String(weight) })
    const alpha = knowledge.as(member(1))
    const put = async (category: string, written: ReturnType<typeof body>) => {
      const asked = { params: { key: category }, body: { ...written, category } }
      assert.equal((await alpha.call(putSource, asked)).status, 201)
    }
    await put('made', body('fox'))
    await put('own', vectorBody('words', ['fox', 0]))
    await put('other', vectorBody('m1', ['fox', 0]))
    const weighed = async (category: string, asked = {}) => {
      const { dense, results } = await find(knowledge, { category, ...asked })
      return [dense, ...results.map(({ score }) => Math.round(score * 61 * 1e6) / 1e6)]
    }
    const own = (embedding_model: string) => ({ embedding: vectorAt(0), embedding_model })
    assert.deepEqual(await weighed('made'), [true, 1 + weight])
    assert.deepEqual(await weighed('own', own('words')), [true, 1 + weight])
    assert.deepEqual(await weighed('other', own('m1')), [true, 2])
  }
})

test('a vector of the caller has 1 024 numbers, and a direction that 32 bits hold', async (t) => {
  const { as } = await testKnowledge(t)
  const status = async (embedding: unknown[]) => {
    const asked = { query: 'fox', embedding, embedding_model: 'm1' } as never
    return (await as(member(1)).call(search, { body: asked })).status
  }
  const rest = vectorAt(0).slice(1)
  for (const right of [1.8e19, -1.8e19, 1.1e-19])
    assert.equal(await status([right, ...rest]), 200, String(right))
  for (const wrong of [1.9e19, -1.9e19, 1e-19, 0, 3e38, 3.5e38, null, '1'])
    assert.equal(await status([wrong, ...rest]), 400, String(wrong))
  assert.equal(await status(rest), 400)
  assert.equal(await status([0, 0, ...rest]), 400)
})

test('a number beyond all that JSON can write is refused by the contract', () => {
  const embedding = JSON.parse(`[1e999${',1'.repeat(1023)}]`)
  const sent = { query: 'fox', embedding, embedding_model: 'm1' }
  assert.equal(search.body.safeParse(sent).success, false)
  assert.equal(
    search.body.safeParse({ ...sent, embedding: [Number.NaN, ...embedding.slice(1)] }).success,
    false,
  )
  assert.ok(search.body.safeParse({ ...sent, embedding: [0, ...embedding.slice(1)] }).success)
})
