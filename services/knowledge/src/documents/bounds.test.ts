import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  MOST_UPLOAD_BYTES,
  MOST_UPLOAD_FILE_BYTES,
  MOST_UPLOAD_FILES,
  search,
  uploadDocuments,
} from '@guildhall/contracts/knowledge'
import { testKnowledge } from '../testing.ts'
import { member, officer } from '../testing-bodies.ts'
import { docxOf, pageOf, pdfOf, streamOf, wordParagraph } from './testing-files.ts'

const file = (name: string, content: string | Uint8Array<ArrayBuffer>) => new File([content], name)
type Client = ReturnType<Awaited<ReturnType<typeof testKnowledge>>['as']>
const send = (client: Client, files: File[]) =>
  client.call(uploadDocuments, { params: { org: 'org1' }, body: { files } })

/** Cheap to read however large: spaces that trail a word. */
const padded = (name: string, bytes: number) => file(name, 'word'.padEnd(bytes))

test('1 to 20 files are taken, none and 21 are not', async (t) => {
  const { as } = await testKnowledge(t)
  assert.equal(MOST_UPLOAD_FILES, 20)
  const files = Array.from({ length: MOST_UPLOAD_FILES + 1 }, (_, n) => file(`${n}.txt`, `${n}`))
  assert.equal((await send(as(officer(1)), [])).status, 400)
  const all = await send(as(officer(1)), files.slice(1))
  assert.ok(all.status === 200 && all.body.indexed === MOST_UPLOAD_FILES)
  assert.equal((await send(as(officer(1)), files)).status, 400)
})

test('a file may have 10 MB and all together 25 MB, not a byte more', async (t) => {
  const { as } = await testKnowledge(t)
  const mebibyte = 1024 * 1024
  assert.deepEqual([MOST_UPLOAD_FILE_BYTES, MOST_UPLOAD_BYTES], [10 * mebibyte, 25 * mebibyte])
  const most = padded('a.txt', MOST_UPLOAD_FILE_BYTES)
  const third = MOST_UPLOAD_BYTES - 2 * MOST_UPLOAD_FILE_BYTES
  const within = await send(as(officer(1)), [
    most,
    padded('b.txt', MOST_UPLOAD_FILE_BYTES),
    padded('c.txt', third),
  ])
  assert.ok(within.status === 200 && within.body.indexed === 3, JSON.stringify(within.body))
  const beyond = [most, padded('b.txt', MOST_UPLOAD_FILE_BYTES), padded('c.txt', third + 1)]
  assert.equal((await send(as(officer(1)), beyond)).status, 413)
  const larger = await send(as(officer(1)), [padded('a.txt', MOST_UPLOAD_FILE_BYTES + 1)])
  assert.equal(larger.status, 413)
})

test('names with path parts, in other scripts, of blanks, of nothing and of great length', async (t) => {
  const { as } = await testKnowledge(t)
  const names = [
    '../../etc/Passwd.txt',
    'C:\\docs\\Plan.txt',
    'Re\u0301sume\u0301.txt',
    ' Two  blanks .txt',
    '   .txt',
    '.txt',
    '部活.md',
    `${'y'.repeat(400)}.txt`,
    'résumé.txt',
  ]
  const reply = await send(
    as(officer(1)),
    names.map((name) => file(name, name)),
  )
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  assert.deepEqual(
    reply.body.files.map(({ key, error }) => [key, error === null]),
    [
      ['upload/passwd.txt', true],
      ['upload/plan.txt', true],
      ['upload/r-sum-.txt', true],
      ['upload/-two--blanks-.txt', true],
      [null, false],
      [null, false],
      [null, false],
      [null, false],
      ['upload/r-sum-.txt', false],
    ],
  )
})

test('hostile files fail alone, and good ones of every kind in the same upload are found', async (t) => {
  const { as } = await testKnowledge(t)
  const bomb = docxOf('', [
    { name: 'word/document.xml', content: Buffer.alloc(60 * 1024 * 1024, 'x') },
  ])
  const stream = streamOf(Buffer.alloc(600 * 1024 * 1024, ' '))
  const files = [
    file('bomb.docx', bomb),
    file('bomb.pdf', pdfOf([stream])),
    file('deep.html', '<div>'.repeat(100_000)),
    file('long.txt', 'word '.repeat(2_000_000)),
    file('wrong.pdf', docxOf(wordParagraph('x'))),
    file('empty.csv', ''),
    file('rules.docx', docxOf(wordParagraph('Badgers dig at night.'))),
    file('book.pdf', pdfOf([pageOf(['Herons stand in water.'])])),
    file('ports.csv', 'name,port\nheronry,4711\n'),
  ]
  const reply = await send(as(officer(1)), files)
  assert.ok(reply.status === 200, JSON.stringify(reply.body))
  assert.deepEqual([reply.body.indexed, reply.body.failed], [3, 6])
  for (const { error } of reply.body.files.slice(0, 6))
    assert.doesNotMatch(error ?? '', /^$|Internal/)
  assert.match(reply.body.files[3]?.error ?? '', /has at most 5000: split it/)
  for (const [query, key] of [
    ['badger', 'upload/rules.docx'],
    ['heron water', 'upload/book.pdf'],
    ['4711', 'upload/ports.csv'],
  ] as const) {
    const found = await as(member(1)).call(search, { body: { query } })
    assert.equal(found.status === 200 && found.body.results[0]?.source_key, key)
  }
})
