import { MOST_CHUNKS } from '@guildhall/contracts/knowledge'
import { AppError } from '@guildhall/service/errors'
import type { Whose } from '../documents/turns.ts'
import type { Extractor } from '../documents/worker.ts'
import type { Cut, SplitOptions } from '../passages/split.ts'

/** What files of a media type end in, for the extractor. */
const ENDINGS: Record<string, string> = {
  'text/html': '.html',
  'application/xhtml+xml': '.html',
  'text/plain': '.txt',
  'text/markdown': '.md',
  'text/x-markdown': '.md',
  'text/csv': '.csv',
  'application/pdf': '.pdf',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': '.docx',
}
const TEXTS = ['.html', '.txt', '.md', '.csv']
/** Where a page says its encoding itself (HTML § 13.2.3.2). */
const PRESCAN_BYTES = 1024
const MOST_TITLE_CHARS = 500

export interface Body {
  bytes: Uint8Array
  /** The header Content-Type. */
  type: string | null
  url: string
}

const whoseOf = (orgId: number): Whose => ({ orgId, kind: 'crawl' })

/** Title and text of a fetched page; the title is its address where it has none. Throws AppError with a sentence for an officer. */
export async function readPage(extractor: Extractor, orgId: number, { bytes, type, url }: Body) {
  const ending = endingOf(type, bytes)
  const name = `page${ending}`
  const sent = TEXTS.includes(ending) ? Buffer.from(decode(bytes, type, ending)) : bytes
  try {
    const { title, text } = await extractor.extract(name, sent, whoseOf(orgId))
    return { title: title === name ? nameOf(url) : title, text }
  } catch (error) {
    throw error instanceof AppError ? said(error, type) : error
  }
}

/** The passages of a page's text. Throws as `readPage` does. */
export async function cutPage(
  extractor: Extractor,
  orgId: number,
  { text, ...options }: SplitOptions & { text: string },
): Promise<Cut[]> {
  try {
    return await extractor.cut(text, options, whoseOf(orgId))
  } catch (error) {
    throw error instanceof AppError ? said(error, null) : error
  }
}

function endingOf(type: string | null, bytes: Uint8Array): string {
  const media = type?.split(';')[0]?.trim().toLowerCase()
  if (media) return ENDINGS[media] ?? unread(media)
  const start = Buffer.from(bytes.subarray(0, PRESCAN_BYTES)).toString('latin1')
  return /<(!doctype|html|head|body)/i.test(start) ? '.html' : '.txt'
}

/** Bytes as text: by their mark, what the site says, what the page says, as UTF-8, else as the web took them before that. */
function decode(bytes: Uint8Array, type: string | null, ending: string): string {
  const start = Buffer.from(bytes.subarray(0, PRESCAN_BYTES)).toString('latin1')
  const meta = ending === '.html' ? /<meta[^>]+charset\s*=\s*["']?([\w:-]+)/i.exec(start)?.[1] : ''
  const labels = [
    markOf(bytes),
    /charset\s*=\s*["']?([\w:-]+)/i.exec(type ?? '')?.[1],
    /^utf-?16/i.test(meta ?? '') ? 'utf-8' : meta, // it could not have been read otherwise
  ]
  const named = labels.map((label) => decoderOf(label)).find(Boolean)
  if (named) return named.decode(bytes)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}

function markOf([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  return first === 0xef && second === 0xbb && third === 0xbf ? 'utf-8' : undefined
}

/** Nothing for a label that nobody knows. */
function decoderOf(label: string | undefined): TextDecoder | undefined {
  try {
    return label ? new TextDecoder(label) : undefined
  } catch {
    return undefined
  }
}

const nameOf = (url: string) => url.replace(/^https?:\/\//, '').slice(0, MOST_TITLE_CHARS)

function unread(media: string): never {
  throw new AppError(
    'invalid',
    'crawl.unsupported',
    `The page is of the type ${media.slice(0, 100)}, which is not read. Read are HTML, plain text, Markdown, CSV, PDF and Word documents.`,
  )
}

const SAID: Record<string, string> = {
  'document.empty':
    'The page holds no text. If a browser shows some, it is made by JavaScript: connect a renderer.',
  'document.not_text': 'The page cannot be read as text: it holds binary data.',
  'document.too_complex': 'The page takes too much time or memory to read.',
  'document.too_long': `The page makes more than the ${MOST_CHUNKS} passages that a source may have: raise chunk_chars in the knowledge settings of the org, or crawl a shorter page.`,
  'document.unreadable': 'The page is damaged or in a form that cannot be read.',
}

/** The extractor speaks to somebody who uploads a file. */
function said(error: AppError, type: string | null): AppError {
  const { kind, code, message } = error
  if (code === 'document.unsupported') unread(type ?? 'unknown')
  return new AppError(kind, code, SAID[code] ?? message, { cause: error })
}
