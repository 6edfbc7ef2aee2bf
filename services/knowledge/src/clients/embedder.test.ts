import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quietLog } from '@guildhall/bus/testing'
import { listSources, putSource, search } from '@guildhall/contracts/knowledge'
import { createLegs } from '../search/legs.ts'
import { testKnowledge } from '../testing.ts'
import { body, member, vectorAt, vectorBody } from '../testing-bodies.ts'
import { testEmbedder } from '../testing-embedder.ts'
import { createEmbedder } from './embedder.ts'

test('passages go in batches of 64 and keep their order; queries have the prefix and are asked once', async (t) => {
  const { world, settings } = await testEmbedder(t)
  const asks = {
    url: settings.EMBEDDINGS_URL,
    model: 'words',
    key: 'k',
    prefix: 'query: ',
    weight: 1,
  }
  const embedder = createEmbedder(asks, new Map(), createLegs(quietLog).embedder)
  const texts = Array.from({ length: 300 }, (_, n) => `word${n}`)
  const vectors = await embedder.passages(texts)
  assert.deepEqual(
    world.asked.map(({ input }) => input.length).sort((a, b) => b - a),
    [64, 64, 64, 64, 44],
  )
  assert.deepEqual(vectors[257], (await embedder.passages(['word257']))[0])
  assert.notDeepEqual(vectors[257], vectors[256])

  const asked = world.asked.length
  await embedder.query('fox')
  await embedder.query('fox')
  assert.deepEqual(world.asked.slice(asked), [
    { authorization: 'Bearer k', model: 'words', input: ['query: fox'] },
  ])
})

test('equal queries at once are one request, and one that failed is asked again', async (t) => {
  const { world, settings } = await testEmbedder(t)
  const asks = { url: settings.EMBEDDINGS_URL, model: 'words', key: 'k', prefix: '', weight: 1 }
  const embedder = createEmbedder(asks, new Map(), createLegs(quietLog).embedder)
  const tenAtOnce = () => Promise.all(Array.from({ length: 10 }, () => embedder.query('fox')))
  world.broken = { status: 500, body: '' }
  assert.ok((await tenAtOnce()).every((vector) => vector === undefined))
  world.broken = undefined
  const [first, ...others] = await tenAtOnce()
  assert.ok(first && others.every((vector) => vector === first))
  assert.equal(world.asked.length, 2)
})

test('without vectors the embedder makes them, and a search by meaning finds what the words do not', async (t) => {
  const { world, settings } = await testEmbedder(t)
  const { as } = await testKnowledge(t, settings)
  const alpha = as(member(1))
  const put = await alpha.call(putSource, { params: { key: 'a' }, body: body('fox', 'dog') })
  assert.ok(put.status === 201)
  assert.equal(put.body.source.version?.embedding_model, 'words')
  const again = world.asked.length
  assert.equal(
    (await alpha.call(putSource, { params: { key: 'a' }, body: body('fox', 'dog') })).status,
    200,
  )
  assert.equal(world.asked.length, again) // unchanged text is not embedded again

  const found = await alpha.call(search, { body: { query: 'a dog -dog' } })
  assert.ok(found.status === 200)
  assert.deepEqual(
    [found.body.dense, found.body.results.map(({ content }) => content)],
    [true, ['dog']],
  )
})

test('while the embedder fails a write is a 502 that wrote nothing, and a search goes by text', async (t) => {
  const { world, settings } = await testEmbedder(t)
  const { as } = await testKnowledge(t, settings)
  const alpha = as(member(1))
  await alpha.call(putSource, { params: { key: 'a' }, body: body('red fox') })
  const short = { data: [{ index: 0, embedding: [1, 2] }] }
  const huge = { data: [{ index: 0, embedding: [...vectorAt(0).slice(1), 1e300] }] }
  const zeros = { data: [{ index: 0, embedding: Array(1024).fill(0) }] }
  const answers = [
    { status: 500, body: '{}' },
    { status: 401, body: '{}' },
    { status: 200, body: 'not json' },
    { status: 200, body: '{"data":[]}' },
    { status: 200, body: JSON.stringify(short) },
    { status: 200, body: JSON.stringify(huge) },
    { status: 200, body: JSON.stringify(zeros) },
  ]
  for (const [n, broken] of answers.entries()) {
    world.broken = broken
    const put = await alpha.call(putSource, { params: { key: 'b' }, body: body('blue fox') })
    assert.ok(put.status === 502, JSON.stringify(put.body))
    assert.match(put.body.code, /^embeddings\./)
    const found = await alpha.call(search, { body: { query: `fox ${n}` } })
    assert.ok(found.status === 200)
    assert.deepEqual([found.body.dense, found.body.results.length], [false, 1])
  }
  const own = vectorBody('m1', ['carried', 0])
  assert.equal((await alpha.call(putSource, { params: { key: 'c' }, body: own })).status, 201)
  const list = await alpha.call(listSources, {})
  assert.deepEqual(list.status === 200 && list.body.sources.map(({ key }) => key), ['a', 'c'])
  world.broken = undefined
  const back = await alpha.call(search, { body: { query: 'fox 0' } })
  assert.equal(back.status === 200 && back.body.dense, true)
})
