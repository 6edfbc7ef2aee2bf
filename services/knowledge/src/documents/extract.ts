import { AppError } from '@guildhall/service/errors'
import { readHtml } from './html.ts'
import { readMarkdown } from './markdown.ts'
import { decodeText, tidy } from './text.ts'

/** What a file says. `title` is one line of at most 500 characters, `text` is never empty. */
export interface Extracted {
  title: string
  text: string
}

type Reader = (bytes: Uint8Array) => { title: string | null; text: string }

const MOST_TITLE_CHARS = 500

const readMarkdownFile: Reader = (bytes) => readMarkdown(decodeText(bytes))
const readHtmlFile: Reader = (bytes) => readHtml(decodeText(bytes))

/** A new format is a line here. */
const READERS: Record<string, Reader> = {
  '.txt': (bytes) => ({ title: null, text: decodeText(bytes) }),
  '.md': readMarkdownFile,
  '.markdown': readMarkdownFile,
  '.html': readHtmlFile,
  '.htm': readHtmlFile,
}

/** Endings of file names that can be read, in lower case with their dot. */
export const DOCUMENT_TYPES: readonly string[] = Object.keys(READERS)

/**
 * Title and text of a file, by the ending of its name. Unbounded in time, memory and stack: use an extractor (worker.ts) for
 * files of others. Throws `document.unsupported`, `document.not_text` or `document.empty`.
 */
export function extract(name: string, bytes: Uint8Array): Extracted {
  const fileName = name.replace(/^.*[/\\]/s, '')
  const read = READERS[/\.[^.]*$/.exec(fileName)?.[0].toLowerCase() ?? '']
  if (!read) {
    const message = `Files of this type are not read. Accepted are ${DOCUMENT_TYPES.join(', ')}.`
    throw new AppError('invalid', 'document.unsupported', message)
  }
  const { title, text } = read(bytes)
  const tidied = tidy(text)
  if (!tidied) throw new AppError('invalid', 'document.empty', 'The file holds no text')
  return {
    title: (title ?? fileName).replace(/\s+/g, ' ').slice(0, MOST_TITLE_CHARS),
    text: tidied,
  }
}
