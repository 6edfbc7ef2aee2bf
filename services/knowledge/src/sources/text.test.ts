import assert from 'node:assert/strict'
import { test } from 'node:test'
import { putSource, search, uploadDocuments } from '@guildhall/contracts/knowledge'
import {
  getOrgSourceText,
  getSourceText,
  MOST_TEXT_CHARS,
} from '@guildhall/contracts/knowledge-dashboard'
import { putKnowledgeSettings } from '@guildhall/contracts/knowledge-settings'
import { testKnowledge } from '../testing.ts'
import { body, member, officer } from '../testing-bodies.ts'

type Client = ReturnType<Awaited<ReturnType<typeof testKnowledge>>['as']>
const org = { org: 'org1' }

async function text(client: Client, key: string, offset = 0) {
  const reply = await client.call(getSourceText, { query: { key, offset: String(offset) } })
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  return reply.body
}

test('the text is the page text in its order, a blank line between, without summaries', async (t) => {
  const { as } = await testKnowledge(t)
  const alpha = as(member(1))
  const chunks = [
    { ordinal: 9, content: 'last' },
    { ordinal: 2, content: 'Title\nfirst' },
    { ordinal: 5, content: 'of all', level: 1 },
  ]
  await alpha.call(putSource, { params: { key: 'a' }, body: { ...body(), chunks } })
  const whole = {
    key: 'a',
    title: 'Title',
    text: 'Title\nfirst\n\nlast',
    offset: 0,
    next_offset: null,
    total_chars: 17,
  }
  assert.deepEqual(await text(alpha, 'a'), whole)
  const seen = await as(officer(1)).call(getOrgSourceText, { params: org, query: { key: 'a' } })
  assert.deepEqual(seen.body, whole)
  const rest = await text(alpha, 'a', 12)
  assert.deepEqual([rest.text, rest.offset], ['\nlast', 12])
  assert.deepEqual(
    [(await text(alpha, 'a', 16)).text, (await text(alpha, 'a', 17)).text],
    ['t', ''],
  )
})

test('what uploads repeat, title and overlap, stands once in the text and in a window', async (t) => {
  const { as, db } = await testKnowledge(t)
  const change = { chunk_chars: 100, chunk_overlap: 50 }
  await as(officer(1)).call(putKnowledgeSettings, { params: org, body: change })
  const sentences = Array.from({ length: 20 }, (_, n) => `Sentence ${n} tells of 🦊 and 🦡.`)
  const files = [new File([sentences.join(' ')], 'a.txt')]
  await as(officer(1)).call(uploadDocuments, { params: org, body: { files } })
  const rows = await db
    .selectFrom('chunks')
    .select(['content', 'repeated'])
    .orderBy('ordinal')
    .execute()
  assert.ok(rows.length > 5 && rows.every(({ content }) => content.startsWith('a.txt\n')))
  for (const { content, repeated } of rows.slice(1)) {
    const again = [...content].slice('a.txt\n'.length, repeated).join('')
    assert.ok(again.length > 10 && again.length <= 51, again)
  }
  const { text: whole, total_chars } = await text(as(member(1)), 'upload/a.txt')
  assert.equal(whole.replaceAll('\n\n', ' '), sentences.join(' '))
  assert.equal(total_chars, [...whole].length)

  const asked = { query: '"Sentence 9"', window: 1, top_k: 1 }
  const found = await as(member(1)).call(search, { body: asked })
  assert.ok(found.status === 200)
  const shown = found.body.results[0]?.content ?? ''
  assert.equal(shown.split('Sentence 9 ').length, 2)
})

test('a long text comes in pieces of 100 000 characters, of which none is cut', async (t) => {
  const { as } = await testKnowledge(t)
  const alpha = as(member(1))
  const put = (contents: string[]) =>
    alpha.call(putSource, { params: { key: 'a' }, body: body(...contents) })
  const part = '🦊'.repeat(9_998) // and the blank line: 10 000
  const exact = [...Array<string>(9).fill(part), '🦊'.repeat(10_000)]
  await put(exact)
  const one = await text(alpha, 'a')
  assert.deepEqual([[...one.text].length, one.total_chars], [MOST_TEXT_CHARS, MOST_TEXT_CHARS])
  assert.equal(one.next_offset, null)
  await put([...exact, 'x'])
  const first = await text(alpha, 'a')
  assert.deepEqual([first.next_offset, first.total_chars], [100_000, 100_003])
  assert.equal(first.text, exact.join('\n\n'))
  assert.ok(first.text.isWellFormed())
  const second = await text(alpha, 'a', 100_000)
  assert.deepEqual([second.text, second.next_offset], ['\n\nx', null])
  const odd = await text(alpha, 'a', 1)
  assert.ok(odd.text.isWellFormed() && odd.next_offset === 100_001)
})

test('only own sources have a text, and what is asked must make sense', async (t) => {
  const { as } = await testKnowledge(t)
  const open = { ...body('fox'), public: true }
  await as(member(1, { publisher: true })).call(putSource, { params: { key: 'a' }, body: open })
  const status = async (client: Client, query: Record<string, string>) =>
    (await client.call(getSourceText, { query: query as never })).status
  assert.equal(await status(as(member(1)), { key: 'a' }), 200)
  assert.equal(await status(as(member(2)), { key: 'a' }), 404)
  assert.equal(await status(as(member(1)), { key: 'b' }), 404)
  for (const query of [
    {},
    { key: '' },
    { key: 'a', offset: '-1' },
    { key: 'a', offset: '0.5' },
    { key: 'a', offset: '2147483648' },
  ])
    assert.equal(await status(as(member(1)), query), 400)
  assert.equal(await status(as(member(1)), { key: 'a', offset: '2147483647' }), 200)
})
