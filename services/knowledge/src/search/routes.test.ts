import assert from 'node:assert/strict'
import { test } from 'node:test'
import { putSource, search } from '@guildhall/contracts/knowledge'
import { testKnowledge } from '../testing.ts'
import { body, member, vectorAt, vectorBody } from '../testing-bodies.ts'

type Client = ReturnType<Awaited<ReturnType<typeof testKnowledge>>['as']>
type Asked = Parameters<typeof searchBody>[0]
const searchBody = (asked: {
  query?: string
  top_k?: number
  window?: number
  embedding?: number[]
  embedding_model?: string
}) => ({ query: 'fox', ...asked })

async function find(client: Client, asked: Asked = {}) {
  const reply = await client.call(search, { body: searchBody(asked) })
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  return reply.body
}
const contents = async (client: Client, asked: Asked = {}) =>
  (await find(client, asked)).results.map(({ content }) => content)

test('the vector search compares within one model and drops what is too far', async (t) => {
  const { as } = await testKnowledge(t)
  const alpha = as(member(1))
  const rows: [string, number][] = [
    ['near', 10],
    ['far', 60],
    ['beyond', 80],
  ]
  await alpha.call(putSource, { params: { key: 'a' }, body: vectorBody('m1', ...rows) })
  await alpha.call(putSource, { params: { key: 'b' }, body: vectorBody('m2', ['other', 0]) })
  const embedding = vectorAt(0)
  const asked = { query: 'nothing', embedding, embedding_model: 'm1' }
  assert.deepEqual(await contents(alpha, asked), ['near', 'far'])
  assert.equal((await find(alpha, asked)).dense, true)
  assert.deepEqual((await find(alpha, { ...asked, embedding_model: 'm3' })).dense, true)
  assert.equal((await find(alpha)).dense, false)
})

test('words and meaning are fused by 1/(60 + rank)', async (t) => {
  const { as } = await testKnowledge(t)
  const alpha = as(member(1))
  const rows: [string, number][] = [
    ['fox fox', 50],
    ['red fox in a long line of words', 0],
    ['dog', 20],
  ]
  await alpha.call(putSource, { params: { key: 'a' }, body: vectorBody('m1', ...rows) })
  const { results } = await find(alpha, { embedding: vectorAt(0), embedding_model: 'm1' })
  assert.deepEqual(
    results.map(({ content, score }) => [content, score]),
    [
      ['red fox in a long line of words', 1 / 62 + 1 / 61],
      ['fox fox', 1 / 61 + 1 / 63],
      ['dog', 1 / 62],
    ],
  )
  const half = { embedding: vectorAt(0) }
  assert.equal((await alpha.call(search, { body: searchBody(half) })).status, 400)
})

test('a row gives way to a summary that ranks higher, and stays where it ranks higher itself', async (t) => {
  const { as } = await testKnowledge(t)
  const alpha = as(member(1))
  const chunks = [
    { ordinal: 0, content: 'fox of the text with many further words', parent_ordinal: 2 },
    { ordinal: 1, content: 'fox fox fox', parent_ordinal: 2 },
    { ordinal: 2, content: 'summary fox fox', level: 1, parent_ordinal: 3 },
    { ordinal: 3, content: 'unrelated', level: 2 },
  ]
  await alpha.call(putSource, { params: { key: 'a' }, body: { ...body(), chunks } })
  assert.deepEqual(await contents(alpha), ['fox fox fox', 'summary fox fox'])
})

test('a window adds neighbours of page text, merges what overlaps and fills up to top_k', async (t) => {
  const { as } = await testKnowledge(t)
  const alpha = as(member(1))
  // ordinals with gaps, a summary between, and what the writer put on each passage stays
  const texts = ['one', 'two fox', 'three', 'four fox', 'five', 'six', 'seven', 'eight fox words']
  const pages = texts.map((text, n) => ({ ordinal: n * 10, content: `Title\n${text}` }))
  const chunks = [...pages, { ordinal: 15, content: 'a summary of all', level: 1 }]
  await alpha.call(putSource, { params: { key: 'a' }, body: { ...body(), chunks } })
  await alpha.call(putSource, {
    params: { key: 'b' },
    body: body('in another source stands a fox among a great many more words'),
  })
  const joined = (...parts: string[]) => parts.map((part) => `Title\n${part}`).join('\n\n')
  assert.deepEqual(await contents(alpha, { window: 1, top_k: 3 }), [
    joined('one', 'two fox', 'three', 'four fox', 'five'),
    joined('seven', 'eight fox words'),
    'in another source stands a fox among a great many more words',
  ])
  assert.equal((await contents(alpha, { window: 1, top_k: 1 })).length, 1)
  assert.deepEqual((await contents(alpha, { window: 0, top_k: 2 })).length, 2)
  assert.deepEqual(await contents(alpha, { query: 'summary', window: 5 }), ['a summary of all'])
  const all = await contents(alpha, { query: 'seven', window: 5 })
  assert.deepEqual(all, [joined(...texts.slice(1))])
})

test('eight results come where nobody says how many, and limits are kept', async (t) => {
  const { as } = await testKnowledge(t)
  const alpha = as(member(1))
  const many = Array.from({ length: 60 }, (_, n) => `fox ${n}`)
  await alpha.call(putSource, { params: { key: 'a' }, body: body(...many) })
  assert.equal((await contents(alpha)).length, 8)
  assert.equal((await contents(alpha, { top_k: 50 })).length, 50)
  assert.equal((await contents(alpha, { top_k: 1, window: 5 })).length, 1)
  for (const asked of [{ top_k: 51 }, { top_k: 0 }, { window: 6 }, { query: ' ' }])
    assert.equal((await alpha.call(search, { body: searchBody(asked) })).status, 400)
})

test('what the index still holds is shown by what the database says now', async (t) => {
  const { as, db } = await testKnowledge(t)
  const [alpha, beta] = [as(member(1, { publisher: true })), as(member(2))]
  await alpha.call(putSource, { params: { key: 'a' }, body: { ...body('fox'), public: true } })
  assert.equal((await contents(beta)).length, 1)
  await db.updateTable('sources').set({ public: false }).execute()
  assert.deepEqual(await contents(beta), [])
  assert.equal((await contents(alpha)).length, 1)
  await db.updateTable('sources').set({ org_id: 3 }).execute() // the index still says org 1
  assert.deepEqual(await contents(alpha), [])
  await db.updateTable('sources').set({ org_id: 1, category: 'elsewhere' }).execute()
  const asked = { query: 'fox', category: 'docs' }
  const reply = await alpha.call(search, { body: asked })
  assert.ok(reply.status === 200)
  assert.deepEqual(reply.body.results, [])
})
