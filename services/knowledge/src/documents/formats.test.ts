import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { extract } from './extract.ts'
import { docxOf, pageOf, pdfFile, pdfOf, streamOf, wordParagraph, zipOf } from './testing-files.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const textOf = async (name: string, file: Uint8Array) => (await extract(name, file)).text
const refused = (code: string, message = /./) => ({ code: `document.${code}`, message })

test('each row of a CSV can be understood alone', async () => {
  const { title, text } = await extract('Ports.csv', bytes('name,port\nweb,80\n\ndb,5432\n'))
  assert.deepEqual([title, text], ['Ports.csv', 'name: web\nport: 80\n\nname: db\nport: 5432'])
})

test('CSV is read with a byte order mark, semicolons, tabs and cells of several lines', async () => {
  for (const delimiter of [',', ';', '\t']) {
    const rows = [
      ['name', '"what, it; does"'],
      ['web', '"serves; a,\n""page"""'],
    ]
    const file = `\ufeff${rows.map((row) => row.join(delimiter)).join('\r\n')}`
    assert.equal(await textOf('a.csv', bytes(file)), 'name: web\nwhat, it; does: serves; a, "page"')
  }
})

test('a CSV may be ragged, have unnamed columns or hold one row', async () => {
  const ragged = bytes('name,,port\nweb\ndb,x,5432,more\n')
  const text = 'name: web\n\nname: db\ncolumn 2: x\nport: 5432\ncolumn 4: more'
  assert.equal(await textOf('a.csv', ragged), text)
  assert.equal(await textOf('a.csv', bytes('alpha,beta')), 'alpha\nbeta')
})

test('a CSV with an open quote is refused', async () => {
  await assert.rejects(textOf('a.csv', bytes('a,b\n"1,2\n')), refused('csv', /as CSV/))
})

const table =
  '<w:tbl><w:tr><w:tc><w:p><w:r><w:t>Name</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>Port</w:t></w:r></w:p></w:tc></w:tr></w:tbl>'

test('a Word document keeps its headings, paragraphs and tables, and is named after its first heading', async () => {
  const body = `${wordParagraph('Rules &amp; hours', 'Heading1')}${wordParagraph('Open at nine.')}${table}`
  assert.deepEqual(await extract('a.docx', docxOf(body)), {
    title: 'Rules & hours',
    text: 'Rules & hours\n\nOpen at nine.\n\nName | Port',
  })
})

test('a zip archive that is no Word document is refused', async () => {
  const archive = zipOf([{ name: '[Content_Types].xml', content: '<Types/>' }])
  await assert.rejects(textOf('a.docx', archive), refused('mismatch', /no|another/))
})

const chapter = (number: number) =>
  pageOf([
    'Handbook of the club',
    '',
    `20pt Part ${number}`,
    '',
    'The workshop is open from nine to five and the quick brown fox is de-',
    'ployed there each day, which is a long line of the text that we write',
    'and its end.',
    '',
    'A second paragraph begins here.',
    '- one',
    '- two',
    '',
    `Page ${number} of 3`,
  ])

test('a PDF is read in paragraphs, without broken words and the heads and feet of its pages', async () => {
  const pages = [1, 2, 3].map(chapter)
  const { title, text } = await extract('a.pdf', pdfOf(pages, { title: 'Handbook' }))
  const paragraphs =
    'The workshop is open from nine to five and the quick brown fox is deployed there each day, which is a long line of the text that we write and its end.\n\nA second paragraph begins here.\n- one\n- two'
  assert.equal(title, 'Handbook')
  assert.equal(text, [1, 2, 3].map((number) => `Part ${number}\n\n${paragraphs}`).join('\n\n'))
})

test('titles that programs invent for a PDF are not used', async () => {
  for (const title of ['', 'Microsoft Word - plan.docx', 'untitled'])
    assert.equal((await extract('Plan.pdf', pdfOf([pageOf(['x'])], { title }))).title, 'Plan.pdf')
})

test('a PDF without a text layer is refused with what to do', async () => {
  await assert.rejects(textOf('scan.pdf', pdfOf(['q Q'])), refused('no_text', /OCR/))
})

test('500 pages of a PDF are read, 501 are refused', async () => {
  const pages = (count: number) => pdfOf(Array.from({ length: count }, () => pageOf(['word'])))
  assert.equal((await textOf('a.pdf', pages(500))).match(/word/g)?.length, 500)
  await assert.rejects(textOf('a.pdf', pages(501)), refused('too_many_pages', /501/))
})

test('a PDF is refused if it needs a password, and if it only restricts what may be done', async () => {
  for (const key of [rc4Padding(-44), '00'.repeat(32)]) {
    const encrypt = `/Encrypt<</Filter/Standard/V 1/R 2/O<${OWNER}>/U<${key}>/P -44>>/ID[<00><00>]`
    const file = pdfOf([pageOf(['x'])], { trailer: encrypt })
    await assert.rejects(textOf('a.pdf', file), refused('encrypted', /without a password/))
  }
})

const OWNER = '11'.repeat(32)
const PADDING = '28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a'

/** The /U of a document without a user password (ISO 32000-1, algorithms 2 and 4). */
function rc4Padding(permissions: number): string {
  const flags = Buffer.alloc(4)
  flags.writeInt32LE(permissions)
  const seed = Buffer.concat([Buffer.from(PADDING + OWNER, 'hex'), flags, Buffer.from([0])])
  const key = createHash('md5').update(seed).digest().subarray(0, 5)
  return rc4(key, Buffer.from(PADDING, 'hex')).toString('hex')
}

function rc4(key: Buffer, data: Buffer): Buffer {
  const state = Array.from({ length: 256 }, (_, n) => n)
  const swap = (a: number, b: number) => {
    const kept = state[a] ?? 0
    state[a] = state[b] ?? 0
    state[b] = kept
  }
  for (let i = 0, j = 0; i < 256; i++) {
    j = (j + (state[i] ?? 0) + (key[i % key.length] ?? 0)) % 256
    swap(i, j)
  }
  let i = 0
  let j = 0
  return data.map((byte) => {
    i = (i + 1) % 256
    j = (j + (state[i] ?? 0)) % 256
    swap(i, j)
    return byte ^ (state[((state[i] ?? 0) + (state[j] ?? 0)) % 256] ?? 0)
  }) as Buffer
}

test('content that contradicts the ending is refused, and said what it is', async () => {
  const pdf = pdfOf([pageOf(['x'])])
  const docx = docxOf(wordParagraph('x'))
  const cases: [string, Uint8Array, RegExp][] = [
    ['a.docx', pdf, /\.docx, but the content is a PDF/],
    ['a.pdf', docx, /\.pdf, but the content is a Word document/],
    ['a.pdf', bytes('hello'), /not of that kind/],
    ['a.docx', Buffer.from('d0cf11e0a1b11ae1', 'hex'), /old Office document.*password/],
    ['a.txt', pdf, /content is a PDF/],
    ['a.csv', docx, /zip archive/],
    ['a.md', Buffer.from('\x89PNG\r\n', 'latin1'), /picture/],
  ]
  for (const [name, file, message] of cases)
    await assert.rejects(textOf(name, file), refused('mismatch', message))
  assert.equal(await textOf('a.md', bytes('<p>fine</p>')), 'fine')
})

test('an empty file of any type is refused, and control characters of a text are left out', async () => {
  for (const ending of ['txt', 'md', 'csv', 'html', 'pdf', 'docx'])
    await assert.rejects(textOf(`a.${ending}`, bytes('')), refused('empty'))
  assert.equal(await textOf('a.txt', bytes('a\x07b\x1b[0m')), 'ab[0m')
})

/** A PDF whose one font is Japanese and coded by a predefined CMap or by the numbers of its own glyphs. */
function japanesePdf(encoding: string, shown: string, toUnicode = '') {
  const system = '<</Registry(Adobe)/Ordering(Japan1)/Supplement 2>>'
  const descriptor =
    '<</Type/FontDescriptor/FontName/Ryumin-Light/Flags 4/FontBBox[0 0 1000 1000]/ItalicAngle 0/Ascent 880/Descent -120/CapHeight 700/StemV 80>>'
  const cidFont = `<</Type/Font/Subtype/CIDFontType0/BaseFont/Ryumin-Light/CIDSystemInfo${system}/FontDescriptor 7 0 R/DW 1000>>`
  const unicode = toUnicode && '/ToUnicode 8 0 R'
  return pdfFile(
    new Map<number, string | Buffer>([
      [1, '<</Type/Catalog/Pages 2 0 R>>'],
      [2, '<</Type/Pages/Kids[3 0 R]/Count 1>>'],
      [
        3,
        '<</Type/Page/Parent 2 0 R/Resources<</Font<</F1 5 0 R>>>>/MediaBox[0 0 595 842]/Contents 4 0 R>>',
      ],
      [4, streamOf(`BT /F1 12 Tf 60 780 Td ${shown} Tj ET`)],
      [
        5,
        `<</Type/Font/Subtype/Type0/BaseFont/Ryumin-Light/Encoding/${encoding}/DescendantFonts[6 0 R]${unicode}>>`,
      ],
      [6, cidFont],
      [7, descriptor],
      [8, streamOf(toUnicode)],
    ]),
  )
}

test('a Japanese PDF that says how its font is coded is read, one that relies on the reader for it is refused', async () => {
  const cmap =
    'begincmap 1 begincodespacerange <0000> <ffff> endcodespacerange 2 beginbfchar <0001> <65e5> <0002> <672c> endbfchar endcmap'
  assert.equal(await textOf('a.pdf', japanesePdf('Identity-H', '<00010002>', cmap)), '日本')
  for (const encoding of ['90ms-RKSJ-H', 'UniJIS-UTF16-H', 'EUC-H']) {
    const file = japanesePdf(encoding, '<93fa967b>')
    await assert.rejects(textOf('a.pdf', file), refused('no_cmap', /\.docx/), encoding)
  }
  await assert.rejects(textOf('a.pdf', japanesePdf('Identity-H', '<00010002>')), refused('no_cmap'))
})
