/** A run of glyphs as pdf.js tells it; `transform` ends in x and y, y growing upwards. */
export interface TextItem {
  str: string
  transform: number[]
  width: number
  height: number
  hasEOL: boolean
}

/** A line of a page, in points. `right` is where its text ends. */
export interface Line {
  text: string
  y: number
  right: number
  height: number
}

/** Baselines further apart than so many heights begin a paragraph (within one they are 1.0 to 1.4 apart). */
const PARAGRAPH_GAP = 1.65
/** A font larger or smaller by this factor begins one as well: a heading, a caption. */
const FONT_CHANGE = 1.15
/** A line that ends before this share of the page's widest ends what it says: an item of a list, a row of a table. */
const FULL_LINE = 0.7
/** A first or last line on so many of the pages is a running head; fewer pages tell nothing. */
const RUNNING_SHARE = 0.6
const LEAST_RUNNING_PAGES = 3
/** Shorter pages, as slides are, keep all their lines. */
const LEAST_LINES = 4
/** A word that goes on in the next line. */
const HYPHENATED = /\p{L}[-\u00ad\u2010]$/u
const LIST_ITEM = /^([•◦▪‣*–-]|\d{1,3}[.)]|\(?[a-z]\))\s/

/** Joins the items of a page to lines. */
export function linesOf(items: readonly TextItem[]): Line[] {
  const lines: Line[] = []
  let current: Line | null = null
  for (const { str, transform, width, height, hasEOL } of items) {
    const [x = 0, y = 0] = transform.slice(4)
    if (str.trim()) {
      current ??= { text: '', y, right: 0, height: 0 }
      current.right = Math.max(current.right, x + width)
      current.height = Math.max(current.height, height)
    }
    if (current) current.text += str
    if (!hasEOL || !current) continue
    lines.push(current)
    current = null
  }
  if (current) lines.push(current)
  return lines.map((line) => ({ ...line, text: line.text.replace(/\s+/g, ' ').trim() }))
}

/** Pages as paragraphs, without the heads and feet that repeat. */
export function textOfPages(pages: readonly Line[][]): string {
  const running = runningLines(pages)
  const repeats = (line: Line | undefined) => running.has(withoutNumbers(line?.text ?? ''))
  return pages
    .map((lines) => {
      if (lines.length < LEAST_LINES) return textOfPage(lines)
      return textOfPage(
        lines.slice(repeats(lines[0]) ? 1 : 0, repeats(lines.at(-1)) ? -1 : undefined),
      )
    })
    .join('\n\n')
}

function textOfPage(lines: readonly Line[]): string {
  const widest = lines.reduce((most, { right }) => Math.max(most, right), 0)
  const parts: string[] = []
  let above: Line | undefined
  for (const line of lines) {
    const between = above ? breakBetween(above, line, widest) : ''
    if (between === ' ' && HYPHENATED.test(parts.at(-1) ?? '') && /^\p{Ll}/u.test(line.text))
      parts.push((parts.pop() ?? '').slice(0, -1), line.text)
    else parts.push(between, line.text)
    above = line
  }
  return parts.join('')
}

function breakBetween(above: Line, line: Line, widest: number): '\n\n' | '\n' | ' ' {
  const height = Math.max(above.height, line.height)
  const gap = above.y - line.y
  const sameFont =
    Math.max(above.height, line.height) <= Math.min(above.height, line.height) * FONT_CHANGE
  if (gap < -height || gap > height * PARAGRAPH_GAP || !sameFont) return '\n\n'
  return above.right < widest * FULL_LINE || LIST_ITEM.test(line.text) ? '\n' : ' '
}

/** The heads and feet that most pages share, but for their numbers. */
function runningLines(pages: readonly Line[][]): Set<string> {
  const counts = new Map<string, number>()
  for (const lines of pages.filter(({ length }) => length >= LEAST_LINES)) {
    const ends = new Set([lines[0], lines.at(-1)].map((line) => withoutNumbers(line?.text ?? '')))
    for (const end of ends) counts.set(end, (counts.get(end) ?? 0) + 1)
  }
  const least = Math.max(LEAST_RUNNING_PAGES, pages.length * RUNNING_SHARE)
  return new Set([...counts].filter(([, count]) => count >= least).map(([end]) => end))
}

const withoutNumbers = (text: string) => text.replace(/\d+/g, '#')
