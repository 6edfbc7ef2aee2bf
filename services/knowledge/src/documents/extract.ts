import { AppError } from '@guildhall/service/errors'
import { checkKind } from './kind.ts'
import { checkTextLength, decodeText, storable, tidy } from './text.ts'

/** What a file says. `title` is one line of at most 500 characters, `text` is never empty. */
export interface Extracted {
  title: string
  text: string
}

/** The title that a file gives itself, and its text, not yet tidied. */
export interface Read {
  title: string | null
  text: string
}

type Reader = (bytes: Uint8Array) => Read | Promise<Read>

const MOST_TITLE_CHARS = 500

/** Parsers are loaded with the first file that needs them: a thread that reads text stays small. */
async function readMarkdownFile(bytes: Uint8Array) {
  const { readMarkdown } = await import('./markdown.ts')
  return readMarkdown(decodeText(bytes))
}
async function readHtmlFile(bytes: Uint8Array) {
  const { readHtml } = await import('./html.ts')
  return readHtml(decodeText(bytes))
}

/** A new format is a line here, and one in kind.ts if its files begin with a signature. */
const READERS: Record<string, Reader> = {
  '.txt': (bytes) => ({ title: null, text: decodeText(bytes) }),
  '.md': readMarkdownFile,
  '.markdown': readMarkdownFile,
  '.csv': async (bytes) => (await import('./csv.ts')).readCsv(decodeText(bytes)),
  '.html': readHtmlFile,
  '.htm': readHtmlFile,
  '.pdf': async (bytes) => (await import('./pdf.ts')).readPdf(bytes),
  '.docx': async (bytes) => (await import('./docx.ts')).readDocx(bytes),
}

/** Endings of file names that can be read, in lower case with their dot. */
export const DOCUMENT_TYPES: readonly string[] = Object.keys(READERS)

/**
 * Title and text of a file, by the ending of its name. Unbounded in time, memory and stack: use an extractor (worker.ts) for
 * files of others. Rejects with `document.unsupported`, `document.mismatch`, `document.empty` and the refusals of the readers.
 */
export async function extract(name: string, bytes: Uint8Array): Promise<Extracted> {
  const fileName = name.replace(/^.*[/\\]/s, '')
  const ending = /\.[^.]*$/.exec(fileName)?.[0].toLowerCase() ?? ''
  const read = Object.hasOwn(READERS, ending) && READERS[ending]
  if (!read) {
    const message = `Files of this type are not read. Accepted are ${DOCUMENT_TYPES.join(', ')}.`
    throw new AppError('invalid', 'document.unsupported', message)
  }
  if (bytes.length === 0) throw empty()
  checkKind(ending, bytes)
  const { title, text } = await read(bytes)
  checkTextLength(text.length)
  const tidied = tidy(storable(text))
  if (!tidied) throw empty()
  return { title: titleLine(title) || titleLine(fileName), text: tidied }
}

const titleLine = (title: string | null) =>
  storable(title ?? '')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, MOST_TITLE_CHARS)
    .toWellFormed() // the cut may have gone through a surrogate pair

const empty = () => new AppError('invalid', 'document.empty', 'The file holds no text')
