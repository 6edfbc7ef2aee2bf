import { AppError } from '@guildhall/service/errors'

type Kind = 'pdf' | 'zip' | 'other'

/** What files begin with, and what people call them. */
const SIGNATURES: readonly [string, Kind, string][] = [
  ['PK\x03\x04', 'zip', 'a Word document (.docx), another Office document or a zip archive'],
  ['\xd0\xcf\x11\xe0', 'other', 'an old Office document (.doc, .xls), or one with a password'],
  ['{\\rtf', 'other', 'a rich text document (.rtf)'],
  ['\x89PNG', 'other', 'a picture'],
  ['\xff\xd8\xff', 'other', 'a picture'],
  ['GIF8', 'other', 'a picture'],
  ['\x1f\x8b', 'other', 'a gzip archive'],
]
/** PDF readers accept other bytes before the header (ISO 32000-1, annex H.3.4.1). */
const PDF_HEADER_WITHIN = 1024

/** Formats that are told by a signature; the others are text. */
const EXPECTED: Readonly<Record<string, Kind>> = { '.pdf': 'pdf', '.docx': 'zip' }
const ADVICE: Readonly<Record<string, string>> = {
  '.pdf': 'Save or print it as PDF and send it again.',
  '.docx': 'Save it in Word as .docx without a password and send it again.',
}

/** Throws `document.mismatch` if the content contradicts the ending: a file is read as what it is called, or not at all. */
export function checkKind(ending: string, bytes: Uint8Array): void {
  const expected = EXPECTED[ending]
  const [kind, found] = kindOf(bytes, expected === 'pdf' ? PDF_HEADER_WITHIN : 0)
  if (kind === expected) return
  const advice =
    ADVICE[ending] ?? 'Give it the right ending, or save it as text, and send it again.'
  const message = `The name ends in ${ending}, but the content is ${found}. ${advice}`
  throw new AppError('invalid', 'document.mismatch', message)
}

function kindOf(bytes: Uint8Array, headerWithin: number): [Kind | undefined, string] {
  const start = Buffer.from(bytes.subarray(0, PDF_HEADER_WITHIN)).toString('latin1')
  const header = start.indexOf('%PDF-')
  if (header >= 0 && header <= headerWithin) return ['pdf', 'a PDF']
  const known = SIGNATURES.find(([signature]) => start.startsWith(signature))
  return known ? [known[1], known[2]] : [undefined, 'not of that kind']
}
