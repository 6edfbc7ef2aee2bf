import { type ImportResult, MOST_NAMED_ROWS, MOST_ROWS } from '@guildhall/contracts/point-imports'
import { Email } from '@guildhall/contracts/points'
import { AppError } from '@guildhall/service/errors'
import { parse } from 'csv-parse/sync'

/** Who an attendance file says was there. */
export interface Attendance {
  attended: { row: number; email: string; name: string }[]
  /** Rows of people who were not checked in, or who stand in the file twice. */
  skipped: number
  errors: { row: number; reason: string }[]
}

/** As for names that officers give (contracts, MemberDetails). */
const MOST_NAME_CHARS = 200
const DELIMITERS = [',', ';', '\t']
const COLUMNS = {
  email: 'email',
  first: 'first name',
  last: 'last name',
  checkedIn: 'checked-in date',
} as const
const REQUIRED = ['email', 'checkedIn'] as const

/**
 * Reads an attendance file: UTF-8 or UTF-16, with or without a byte order mark, whatever its line ends. Rows
 * that cannot be used are named. Throws `import.csv`, `import.columns` or `import.too_long` for a file of none.
 */
export function readAttendance(text: string): Attendance {
  const [header, ...rows] = recordsOf(text)
  const at = columnsIn(header?.record ?? [])
  if (rows.length > MOST_ROWS) throw tooLong(rows.length)
  const found: Attendance = { attended: [], skipped: 0, errors: [] }
  const seen = new Set<string>()
  for (const { record, info } of rows) {
    const cell = (index: number) => record[index]?.trim() ?? ''
    const email = Email.safeParse(cell(at.email))
    if (!cell(at.checkedIn)) found.skipped += 1
    else if (!email.success)
      found.errors.push({ row: info.lines, reason: `Email ${email.error.issues[0]?.message}` })
    else if (seen.has(email.data)) found.skipped += 1
    else {
      seen.add(email.data)
      const name = shortened(`${cell(at.first)} ${cell(at.last)}`.trim())
      found.attended.push({ row: info.lines, email: email.data, name })
    }
  }
  return found
}

/** As many characters as a name may have, never half of a surrogate pair: Postgres takes none. */
const shortened = (name: string) => name.slice(0, MOST_NAME_CHARS).replace(/[\uD800-\uDBFF]$/, '')

/** The first rows that cannot be used, and how many there are: a file may hold 20 000. */
export const namedRows = (
  errors: Attendance['errors'],
): Pick<ImportResult, 'errors' | 'errors_total'> => ({
  errors: errors.slice(0, MOST_NAMED_ROWS),
  errors_total: errors.length,
})

/** The text of an uploaded file. Throws `import.csv` for what is no text. */
export function decodeFile(bytes: Uint8Array): string {
  const utf16 = { '255,254': 'utf-16le', '254,255': 'utf-16be' }[bytes.slice(0, 2).join()]
  try {
    const text = new TextDecoder(utf16 ?? 'utf-8', { fatal: true }).decode(bytes)
    if (!text.includes('\0')) return text
  } catch (cause) {
    throw notCsv('it is no text in UTF-8 or UTF-16', cause)
  }
  throw notCsv('it holds NUL characters, so it is no text')
}

interface Row {
  record: string[]
  info: { lines: number }
}

function recordsOf(text: string): Row[] {
  try {
    return parse(text, {
      bom: true,
      delimiter: delimiterOf(text),
      record_delimiter: ['\r\n', '\n', '\r'],
      relax_column_count: true,
      skip_empty_lines: true,
      info: true,
    }) as unknown as Row[]
  } catch (cause) {
    throw notCsv((cause as Error).message, cause)
  }
}

/** The one that stands most often in the first line, outside of quotes. */
function delimiterOf(text: string): string {
  const [line = ''] = text.replace(/"[^"]*"/g, '').split(/[\r\n]+/, 1)
  const count = (delimiter: string) => line.split(delimiter).length
  return DELIMITERS.reduce((best, other) => (count(other) > count(best) ? other : best))
}

function columnsIn(header: string[]) {
  const names = header.map((name) => name.trim().toLowerCase())
  const at = Object.fromEntries(
    Object.entries(COLUMNS).map(([key, name]) => [key, names.indexOf(name)]),
  ) as Record<keyof typeof COLUMNS, number>
  const missing = REQUIRED.filter((key) => at[key] < 0).map((key) => COLUMNS[key])
  if (missing.length === 0) return at
  throw new AppError(
    'invalid',
    'import.columns',
    `The first line has no column ${missing.join(', ')}; it needs Email, First Name, Last Name, Checked-In Date`,
  )
}

const notCsv = (why: string, cause?: unknown) =>
  new AppError(
    'invalid',
    'import.csv',
    `The file cannot be read as CSV: ${why}. Save it again as CSV (UTF-8).`,
    { cause },
  )

const tooLong = (rows: number) =>
  new AppError(
    'too_large',
    'import.too_long',
    `The file has ${rows} rows, and at most ${MOST_ROWS} are read at once; split it`,
  )
