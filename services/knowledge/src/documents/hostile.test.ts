import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { deflateSync } from 'node:zlib'
import { docxOf, pageOf, pdfFile, pdfOf, streamOf, wordParagraph, zipOf } from './testing-files.ts'
import { createExtractor } from './worker.ts'

const MEBIBYTE = 1024 * 1024
/** The worker's time limit and the start of another thread. */
const MOST_MS = 13_000
/** Heap and buffers that a thread may hold, and one doubling of a buffer between two looks. */
const MOST_GROWTH_BYTES = 1024 * MEBIBYTE

/** Each file is refused with that code, within the limits, and the next file is read. */
function refuses(title: string, cases: Record<string, [string, string, () => Uint8Array]>) {
  test(title, async (t) => {
    const { extract } = extractor(t)
    for (const [what, [name, code, make]] of Object.entries(cases)) {
      const file = make()
      const memory = watchMemory()
      const started = performance.now()
      await assert.rejects(extract(name, file), { code: `document.${code}` }, what)
      const next = await extract('good.txt', Buffer.from('fine'))
      assert.equal(next.text, 'fine')
      assert.ok(performance.now() - started < MOST_MS, `${what}: slow`)
      assert.ok(memory.growth() < MOST_GROWTH_BYTES, `${what}: ${memory.growth()} bytes`)
    }
  })
}

function extractor(t: TestContext) {
  const made = createExtractor()
  t.after(() => made.close())
  const officer = { orgId: 1, kind: 'upload' as const }
  return { extract: (name: string, bytes: Uint8Array) => made.extract(name, bytes, officer) }
}

function watchMemory() {
  const before = process.memoryUsage.rss()
  let most = before
  const look = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss())
  }, 20)
  return {
    growth() {
      clearInterval(look)
      return most - before
    },
  }
}

const text = (content: string) => () => Buffer.from(content)
const document = (content: string | Uint8Array, declared?: number) => () =>
  docxOf('', [{ name: 'word/document.xml', content, ...(declared && { declared }) }])
const manyParts = (count: number) => () =>
  docxOf(
    '',
    Array.from({ length: count }, (_, n) => ({ name: `${n}.xml`, content: '' })),
  )
const UNPACKED = 200 * MEBIBYTE

refuses('Word documents that unpack without end are refused', {
  'a zip bomb': ['a.docx', 'too_large', document(Buffer.alloc(UNPACKED, 'x'))],
  'sizes that lie': ['a.docx', 'unreadable', document(Buffer.alloc(UNPACKED, 'x'), 1000)],
  'many small bombs': [
    'a.docx',
    'too_large',
    () =>
      docxOf(
        '',
        Array.from({ length: 6 }, (_, n) => ({
          name: `${n}.rels`,
          content: Buffer.alloc(10 * MEBIBYTE),
        })),
      ),
  ],
  '100 000 parts': ['a.docx', 'too_large', manyParts(100_000)],
  '20 000 parts': ['a.docx', 'too_large', manyParts(20_000)],
  'many elements': ['a.docx', 'too_complex', () => docxOf('<w:p/>'.repeat(8 * MEBIBYTE))],
  'deep elements': [
    'a.docx',
    'too_complex',
    () => docxOf('<w:p>'.repeat(100_000) + '</w:p>'.repeat(100_000)),
  ],
})

refuses('damaged and cunning Word documents are refused', {
  'XML entities': [
    'a.docx',
    'unreadable',
    document('<!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><a>&b;</a>'),
  ],
  'an external entity': [
    'a.docx',
    'unreadable',
    document('<!DOCTYPE a [<!ENTITY a SYSTEM "file:///etc/passwd">]><a>&a;</a>'),
  ],
  'no archive': ['a.docx', 'unreadable', text('PK\x03\x04 and nothing else')],
  'cut off': ['a.docx', 'unreadable', () => docxOf(wordParagraph('x')).subarray(0, 400)],
  'an archive in an archive': [
    'a.docx',
    'mismatch',
    () => zipOf([{ name: 'inner.docx', content: docxOf(wordParagraph('x')) }]),
  ],
})

test('what a Word document holds besides its text stays packed', async (t) => {
  const { extract } = extractor(t)
  const file = docxOf(wordParagraph('fine'), [
    { name: 'word/media/a.png', content: Buffer.alloc(UNPACKED) },
    { name: 'word/embeddings/b.docx', content: docxOf('x'.repeat(1000)) },
  ])
  assert.equal((await extract('a.docx', file)).text, 'fine')
})

const packed = (rounds: number) => {
  let stream: Buffer<ArrayBuffer> = Buffer.alloc(UNPACKED * 4, ' ')
  for (let round = 0; round < rounds; round++) stream = deflateSync(stream)
  return pdfOf([streamOf('', `[${'/FlateDecode'.repeat(rounds)}]`, stream)])
}
const catalog: [number, string] = [1, '<</Type/Catalog/Pages 2 0 R>>']
const pages = (kids: string, count: number) =>
  pdfFile(new Map([catalog, [2, `<</Type/Pages/Kids[${kids}]/Count ${count}>>`]]))

refuses('PDFs that unpack or go on without end are refused', {
  'a stream bomb': ['a.pdf', 'too_complex', () => packed(1)],
  'a bomb in a bomb': ['a.pdf', 'too_complex', () => packed(2)],
  '10 000 pages': [
    'a.pdf',
    'too_many_pages',
    () => pdfOf(Array.from({ length: 10_000 }, () => pageOf(['x']))),
  ],
  'a count that lies': ['a.pdf', 'unreadable', () => pages('2 0 R '.repeat(9), 2_000_000_000)],
  'pages within themselves': ['a.pdf', 'unreadable', () => pages('2 0 R 2 0 R', 2)],
  'no objects': [
    'a.pdf',
    'unreadable',
    () => Buffer.from('%PDF-1.7\n'.padEnd(10 * MEBIBYTE, '[<(')),
  ],
})

refuses('texts that overwhelm their parser are refused', {
  'html nested without end': ['a.html', 'too_complex', text('<div>'.repeat(1_500_000))],
  'broken UTF-8': ['a.txt', 'not_text', () => Buffer.from([0x61, 0xc3, 0x28])],
  'NUL characters': ['a.md', 'not_text', text('a\0b')],
  '100 000 columns': ['a.csv', 'too_wide', text(`${'c,'.repeat(100_000)}\n1,2`)],
  'a long header on many rows': [
    'a.csv',
    'too_long',
    text(`${'h'.repeat(5 * MEBIBYTE)}\n${'x\n'.repeat(1000)}`),
  ],
})

test('a line of 10 MB and a cell of 5 MB are read', async (t) => {
  const { extract } = extractor(t)
  for (const ending of ['txt', 'md', 'html', 'csv']) {
    const read = await extract(`a.${ending}`, Buffer.alloc(10 * MEBIBYTE, 'x'))
    assert.equal(read.text.length, 10 * MEBIBYTE)
  }
  const cell = `name,text\na,"${'x '.repeat(2.5 * MEBIBYTE)}"\n`
  assert.match((await extract('a.csv', Buffer.from(cell))).text, /^name: a\ntext: x x x/)
})
