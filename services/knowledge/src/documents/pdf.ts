import { AppError } from '@guildhall/service/errors'
import { getDocumentProxy } from 'unpdf'
import type { Read } from './extract.ts'
import { linesOf, type TextItem, textOfPages } from './pdf-text.ts'

type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>

/** decisions.md § 3. */
const MOST_PAGES = 500
/** No fonts of the machine, no evaluation, no forms, and no warnings on the console. */
const OPTIONS = {
  disableFontFace: true,
  useSystemFonts: false,
  useWasm: false,
  enableXfa: false,
  stopAtErrors: false,
  verbosity: 0,
}
/** Titles that programs invent: `Microsoft Word - plan.docx`, `untitled`. */
const NO_TITLE = /^(microsoft \w+ - .*|untitled.*|.*\.\w{2,4})$/i

/** The text layer of a PDF. Throws `document.encrypted`, `document.too_many_pages`, `document.no_cmap` or `document.no_text`. */
export async function readPdf(bytes: Uint8Array): Promise<Read> {
  const missing = new Set<string>()
  const pdf = await opened(bytes, missing)
  try {
    if (pdf.numPages > MOST_PAGES) throw tooManyPages(pdf.numPages)
    const info: { Title?: unknown; EncryptFilterName?: unknown } = (await pdf.getMetadata()).info
    if (info.EncryptFilterName) throw encrypted()
    const pages = []
    for (let number = 1; number <= pdf.numPages; number++)
      pages.push(await linesOfPage(pdf, number))
    if (missing.size > 0) throw noCmap([...missing])
    const text = textOfPages(pages)
    if (!text.trim()) throw noText()
    const title = typeof info.Title === 'string' ? info.Title.trim() : ''
    return { title: NO_TITLE.test(title) ? null : title || null, text }
  } finally {
    await pdf.loadingTask.destroy()
  }
}

async function linesOfPage(pdf: Pdf, number: number) {
  const page = await pdf.getPage(number)
  const { items } = await page.getTextContent()
  page.cleanup()
  return linesOf(items.filter((item) => 'str' in item) as TextItem[])
}

async function opened(bytes: Uint8Array, missing: Set<string>): Promise<Pdf> {
  /** pdf.js asks it for the predefined CMaps (ISO 32000-1, 9.7.5.2), which are not at hand: text in their fonts would be lost. */
  class BinaryDataFactory {
    async fetch({ kind, filename }: { kind: string; filename: string }): Promise<never> {
      if (kind === 'cMapUrl') missing.add(filename)
      throw new Error(`${filename} is not at hand`)
    }
  }
  try {
    return await getDocumentProxy(new Uint8Array(bytes), { ...OPTIONS, BinaryDataFactory })
  } catch (cause) {
    if ((cause as Error).name === 'PasswordException') throw encrypted(cause)
    throw cause
  }
}

const encrypted = (cause?: unknown) =>
  new AppError(
    'invalid',
    'document.encrypted',
    'The PDF is encrypted. Save it without a password and without restrictions (or print it to a new PDF) and send it again.',
    cause ? { cause } : {},
  )

const tooManyPages = (pages: number) =>
  new AppError(
    'too_large',
    'document.too_many_pages',
    `The PDF has ${pages} pages, and at most ${MOST_PAGES} are read: split it`,
  )

const noCmap = (names: readonly string[]) =>
  new AppError(
    'invalid',
    'document.no_cmap',
    `The PDF does not hold how its Chinese, Japanese or Korean fonts are coded (${names.slice(0, 3).join(', ')}), so its text cannot be read. Save the document as .docx, or print it to a new PDF with all fonts embedded, and send it again.`,
  )

const noText = () =>
  new AppError(
    'invalid',
    'document.no_text',
    'The PDF has no text layer: its pages are pictures, as a scanner makes them. Run text recognition (OCR) over it and send the result.',
  )
