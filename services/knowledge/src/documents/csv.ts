import { AppError } from '@guildhall/service/errors'
import { parse } from 'csv-parse/sync'
import type { Read } from './extract.ts'
import { checkTextLength } from './text.ts'

const DELIMITERS = [',', ';', '\t']
/** Wider tables are no text that anybody searches. */
const MOST_COLUMNS = 1000

/**
 * Each row as a paragraph of lines `column: value`, so that a passage of it can be understood alone. Empty cells are left out;
 * a cell beyond the header is named by its number. A file of one row has no header. Throws `document.too_wide`,
 * `document.too_long`, or `document.csv` with the line that cannot be read.
 */
export function readCsv(source: string): Read {
  const rows = parsed(source)
  const [header = [], ...records] = rows
  const widest = rows.reduce((most, row) => Math.max(most, row.length), 0)
  if (widest > MOST_COLUMNS) throw tooWide(widest)
  if (records.length === 0) return { title: null, text: header.map(oneLine).join('\n') }

  const names = Array.from(
    { length: widest },
    (_, n) => oneLine(header[n] ?? '') || `column ${n + 1}`,
  )
  const paragraphs: string[] = []
  let chars = 0
  for (const record of records) {
    const lines = record.flatMap((cell, n) => (cell.trim() ? `${names[n]}: ${oneLine(cell)}` : []))
    const paragraph = lines.join('\n')
    chars += paragraph.length
    checkTextLength(chars) // a long header repeats in each row
    if (paragraph) paragraphs.push(paragraph)
  }
  return { title: null, text: paragraphs.join('\n\n') }
}

function parsed(source: string): string[][] {
  try {
    return parse(source, {
      bom: true,
      delimiter: delimiterOf(source),
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
    })
  } catch (cause) {
    const message = `The file cannot be read as CSV: ${(cause as Error).message}. Save it again as CSV (UTF-8).`
    throw new AppError('invalid', 'document.csv', message, { cause })
  }
}

/** The one that stands most often in the first line, outside of quotes. Spreadsheets of some countries write semicolons. */
function delimiterOf(source: string): string {
  const [line = ''] = source.replace(/"[^"]*"/g, '').split(/[\r\n]+/, 1)
  const count = (delimiter: string) => line.split(delimiter).length
  return DELIMITERS.reduce((best, other) => (count(other) > count(best) ? other : best))
}

const oneLine = (cell: string) => cell.replace(/\s+/g, ' ').trim()

const tooWide = (columns: number) =>
  new AppError(
    'too_large',
    'document.too_wide',
    `The table has ${columns} columns, and at most ${MOST_COLUMNS} are read: leave out those that nobody searches`,
  )
