import { parseHTML } from 'linkedom'
import { micromark } from 'micromark'
import { gfm, gfmHtml } from 'micromark-extension-gfm'

/** A row of a job table, as it stands there. */
export interface Row {
  company: string
  role: string
  locations: string[]
  /** As it is written there; null where the row has none. */
  link: string | null
  closed: boolean
  posted: string
}

/** The five columns (interface.md, Alert feed), as lists name them. */
const COLUMNS = {
  company: /^company/i,
  role: /^(role|position|title)/i,
  location: /^locations?$/i,
  link: /^(application|link|apply)/i,
  posted: /^(date|age|posted)/i,
}
type Column = keyof typeof COLUMNS
type Places = Record<Column, number>
/** The company is the one of the row above. */
const SAME = /^(↳|)$/u
const LOCK = /🔒/u
type Element = ReturnType<typeof parseHTML>['document']['documentElement']

/** The rows of the first table with the five columns that has any, in Markdown or HTML; nothing where there is none. */
export function readTable(markdown: string): Row[] | undefined {
  const html = micromark(markdown, {
    allowDangerousHtml: true,
    extensions: [gfm()],
    htmlExtensions: [gfmHtml()],
  })
  const { document } = parseHTML(`<!doctype html><html><body>${html}</body></html>`)
  let empty: Row[] | undefined
  for (const table of document.querySelectorAll('table')) {
    const [head, ...rows] = [...table.querySelectorAll('tr')]
    const places = head && placesIn(cellsOf(head).map(textOf))
    const read = places && readRows(rows, places)
    if (read?.length) return read
    empty ??= read
  }
  return empty
}

/** Where the columns are; nothing where one is missing. */
function placesIn(names: string[]): Places | undefined {
  const entries = Object.entries(COLUMNS).map(
    ([column, name]) => [column, names.findIndex((one) => name.test(one))] as const,
  )
  if (entries.some(([, place]) => place < 0)) return undefined
  return Object.fromEntries(entries) as Places
}

function readRows(rows: Element[], places: Places): Row[] {
  let above = ''
  return rows.flatMap((row) => {
    const cells = cellsOf(row)
    const at = (column: Column) => cells[places[column]]
    const own = textOf(at('company'))
    const company = SAME.test(own) ? above : own
    above = company
    const role = textOf(at('role'))
    if (!company || !role) return []
    const locations = linesOf(at('location'))
    const closed =
      LOCK.test(row.textContent ?? '') || struck([at('company'), at('role'), at('link')])
    return [
      { company, role, locations, link: linkIn(at('link')), closed, posted: textOf(at('posted')) },
    ]
  })
}

const cellsOf = (row: Element): Element[] => [...row.querySelectorAll('td, th')]
const struck = (cells: (Element | undefined)[]) =>
  cells.some((cell) => cell?.querySelector('del, s, strike'))
const textOf = (cell: Element | undefined) =>
  (cell?.textContent ?? '').replace(LOCK, '').replace(/\s+/g, ' ').trim()

/** The places of a cell, one a line, unfolded: what is said of how many there are is none of them. */
function linesOf(cell: Element | undefined): string[] {
  if (!cell) return []
  for (const summary of cell.querySelectorAll('summary')) summary.remove()
  for (const line of cell.querySelectorAll('br')) line.replaceWith('\n')
  const lines = (cell.textContent ?? '').split('\n')
  return lines
    .map((line: string) => line.replace(/\s+/g, ' ').trim())
    .filter((line: string) => line !== '')
}

function linkIn(cell: Element | undefined): string | null {
  for (const anchor of cell?.querySelectorAll('a[href]') ?? []) {
    const href = anchor.getAttribute('href')?.trim() ?? ''
    if (/^https?:\/\//i.test(href) && URL.canParse(href)) return href
  }
  return null
}
