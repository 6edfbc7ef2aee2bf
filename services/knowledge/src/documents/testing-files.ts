import { crc32, deflateRawSync, deflateSync } from 'node:zlib'

/** Files that tests upload, made byte by byte so that they can be wrong in exactly one way. */

export interface ZipPart {
  name: string
  content: Uint8Array | string
  /** What the archive declares instead of the true unpacked size. */
  declared?: number
}

/** A zip archive (APPNOTE 6.3). */
export function zipOf(parts: readonly ZipPart[]): Buffer<ArrayBuffer> {
  const locals: Buffer[] = []
  const centrals: Buffer[] = []
  let offset = 0
  for (const { name, content, declared } of parts) {
    const bytes = Buffer.from(content as string)
    const packed = deflateRawSync(bytes)
    const fileName = Buffer.from(name)
    const shared = Buffer.alloc(26)
    shared.writeUInt16LE(20, 0) // version
    shared.writeUInt16LE(8, 4) // deflate
    shared.writeUInt32LE(crc32(bytes), 10)
    shared.writeUInt32LE(packed.length, 14)
    shared.writeUInt32LE(declared ?? bytes.length, 18)
    shared.writeUInt16LE(fileName.length, 22)
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE(offset, 10)
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), shared, fileName, packed])
    locals.push(local)
    centrals.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x00'), shared, tail, fileName]))
    offset += local.length
  }
  const directory = Buffer.concat(centrals)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  end.writeUInt16LE(Math.min(parts.length, 0xffff), 8)
  end.writeUInt16LE(Math.min(parts.length, 0xffff), 10)
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...locals, directory, end])
}

const TYPES =
  '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
const RELATIONS =
  '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>'
const STYLES =
  '<w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/></w:style></w:styles>'

/** A Word document with that body, and further or other parts. */
export function docxOf(body: string, more: readonly ZipPart[] = []): Buffer<ArrayBuffer> {
  const document = `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>${body}</w:body></w:document>`
  const parts = [
    { name: '[Content_Types].xml', content: TYPES },
    { name: '_rels/.rels', content: RELATIONS },
    { name: 'word/styles.xml', content: STYLES },
    { name: 'word/document.xml', content: document },
  ]
  const replaced = new Set(more.map(({ name }) => name))
  return zipOf([...parts.filter(({ name }) => !replaced.has(name)), ...more])
}

/** A paragraph of Word. */
export const wordParagraph = (text: string, style = '') =>
  `<w:p>${style && `<w:pPr><w:pStyle w:val="${style}"/></w:pPr>`}<w:r><w:t>${text}</w:t></w:r></w:p>`

export interface PdfOptions {
  title?: string
  /** Goes into the trailer. */
  trailer?: string
  /** What the catalog says instead of the pages' number. */
  count?: number
  /** Written after the pages, from object 1000 on in the order given. */
  objects?: readonly (string | Buffer)[]
}

/** A PDF of pages given as content streams. */
export function pdfOf(streams: readonly (string | Buffer)[], options: PdfOptions = {}) {
  const kids = streams.map((_, n) => `${10_000 + 2 * n} 0 R`).join(' ')
  const objects = new Map<number, string | Buffer>([
    [1, '<</Type/Catalog/Pages 2 0 R>>'],
    [2, `<</Type/Pages/Kids[${kids}]/Count ${options.count ?? streams.length}>>`],
    [3, '<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>'],
    [4, `<</Title(${options.title ?? ''})>>`],
  ])
  for (const [n, object] of (options.objects ?? []).entries()) objects.set(1000 + n, object)
  for (const [n, stream] of streams.entries()) {
    const page = 10_000 + 2 * n
    const resources = '/Resources<</Font<</F1 3 0 R>>>>/MediaBox[0 0 595 842]'
    objects.set(page, `<</Type/Page/Parent 2 0 R${resources}/Contents ${page + 1} 0 R>>`)
    objects.set(page + 1, typeof stream === 'string' ? streamOf(stream) : stream)
  }
  return pdfFile(objects, `/Info 4 0 R${options.trailer ?? ''}`)
}

/** A PDF of those objects; object 1 is its catalog. */
export function pdfFile(objects: ReadonlyMap<number, string | Buffer>, trailer = '') {
  const parts = [Buffer.from('%PDF-1.7\n')]
  const places: string[] = []
  let offset = parts[0]?.length ?? 0
  for (const [number, object] of objects) {
    const part = Buffer.concat([
      Buffer.from(`${number} 0 obj\n`),
      Buffer.from(object as string),
      Buffer.from('\nendobj\n'),
    ])
    places.push(`${number} 1\n${String(offset).padStart(10, '0')} 00000 n \n`)
    parts.push(part)
    offset += part.length
  }
  const size = Math.max(...objects.keys()) + 1
  const end = `trailer\n<</Size ${size}/Root 1 0 R${trailer}>>\nstartxref\n${offset}\n%%EOF\n`
  return Buffer.concat([...parts, Buffer.from(`xref\n${places.join('')}${end}`)])
}

/** A compressed stream object. */
export function streamOf(
  content: string | Uint8Array,
  filter = '/FlateDecode',
  packed = deflateSync(content),
): Buffer {
  const head = Buffer.from(`<</Length ${packed.length}/Filter${filter}>>stream\n`)
  return Buffer.concat([head, packed, Buffer.from('\nendstream')])
}

/** A page of lines from the top; a number leaves so many points free and the font's size can stand before a line. */
export function pageOf(lines: readonly string[], { top = 780, leading = 14 } = {}): string {
  let y = top
  return lines
    .map((line) => {
      const [, size = '12', text = ''] = /^(?:(\d+)pt )?(.*)$/s.exec(line) ?? []
      const shown = `BT /F1 ${size} Tf 60 ${y} Td (${text.replace(/[()\\]/g, '\\$&')}) Tj ET`
      y -= leading
      return shown
    })
    .join('\n')
}
