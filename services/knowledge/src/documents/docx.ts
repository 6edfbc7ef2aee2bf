import { AppError } from '@guildhall/service/errors'
import mammoth from 'mammoth'
import type { Read } from './extract.ts'
import { htmlToText } from './html.ts'
import { xmlParts } from './zip.ts'

const CONTENT_TYPES = '[Content_Types].xml'

/**
 * The text of a Word document with its headings, lists and tables; of pictures what they are described as. Mammoth is given
 * the parts that zip.ts unpacked, so it neither unpacks nor fetches anything itself. Throws `document.mismatch`,
 * `document.too_large` or `document.unreadable`.
 */
export async function readDocx(bytes: Uint8Array): Promise<Read> {
  const parts = await xmlParts(bytes)
  if (!parts.get(CONTENT_TYPES)?.includes('wordprocessingml')) throw notWord()
  for (const xml of parts.values()) checkXml(xml)
  const { value: html } = await mammoth.convertToHtml(input(parts), {
    convertImage: mammoth.images.imgElement(async () => ({ src: '' })),
    externalFileAccess: false,
    includeEmbeddedStyleMap: false,
  })
  const heading = /<h1[^>]*>(.*?)<\/h1>/s.exec(html)?.[1]
  return { title: heading ? htmlToText(heading) || null : null, text: htmlToText(html) }
}

/** Mammoth's own way to be given an unpacked document (its lib/unzip.js), which its types leave out. */
function input(parts: ReadonlyMap<string, Buffer>) {
  const file = {
    exists: (path: string) => parts.has(path),
    read: async (path: string, encoding?: string) => {
      const part = parts.get(path)
      if (!part) throw new AppError('invalid', 'document.unreadable', `${path} is missing`)
      return encoding ? new TextDecoder(encoding).decode(part) : part
    },
  }
  return { file } as unknown as Parameters<typeof mammoth.convertToHtml>[0]
}

/** Office documents never hold a document type, and entities are declared in one only (ECMA-376 part 2, § 9.1.4). */
function checkXml(xml: Buffer): void {
  if (!xml.includes('<!DOCTYPE') && !xml.includes('<!ENTITY')) return
  const message =
    'The document declares XML entities, which Word never writes: save it anew in Word and send it again'
  throw new AppError('invalid', 'document.unreadable', message)
}

const notWord = () =>
  new AppError(
    'invalid',
    'document.mismatch',
    'The name ends in .docx, but the content is another zip archive than a Word document. Save it in Word as .docx and send it again.',
  )
