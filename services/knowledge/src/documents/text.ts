import { AppError } from '@guildhall/service/errors'

/** The text of a file in UTF-8, or in UTF-16 with a byte order mark. Throws `document.not_text` for anything else. */
export function decodeText(bytes: Uint8Array): string {
  const text = decode(bytes)
  if (!text.includes('\0')) return text
  throw notText('it holds NUL characters, so it is a binary file')
}

/** Without the control characters that PDFs and other programs' files hold: Postgres keeps no U+0000 and no half of a pair. */
export const storable = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  text.replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/g, '').toWellFormed()

/** One line end (\n), no blanks at line ends, at most one blank line in a row. */
export function tidy(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .replace(/^\n+/, '')
    .trimEnd()
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder(encodingOf(bytes), { fatal: true }).decode(bytes)
  } catch (cause) {
    throw notText('it is neither UTF-8 nor UTF-16 with a byte order mark', cause)
  }
}

function encodingOf([first, second]: Uint8Array): string {
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  return 'utf-8'
}

const notText = (why: string, cause?: unknown) =>
  new AppError(
    'invalid',
    'document.not_text',
    `The file cannot be read as text: ${why}. Save it as UTF-8 and send it again.`,
    cause ? { cause } : {},
  )

/** For a file that takes too much time, memory or stack to read. */
export const tooComplex = () =>
  new AppError(
    'invalid',
    'document.too_complex',
    'The file takes too much time or memory to read. Split or simplify it and send it again.',
  )

/** More fits no source: MOST_CHUNKS passages of the largest size that can be set. */
const MOST_TEXT_CHARS = 20_000_000

/** Throws `document.too_long` for a text that no passage size could fit into a source. */
export function checkTextLength(chars: number): void {
  if (chars <= MOST_TEXT_CHARS) return
  const message = `The file holds more than ${MOST_TEXT_CHARS / 1e6} million characters, tables with their column names repeated: split it`
  throw new AppError('too_large', 'document.too_long', message)
}
