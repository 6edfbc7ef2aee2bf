import { escapeMarkdown } from 'discord.js'

/** Longest message that the chat platform takes, in characters. */
export const MOST_CHARS = 2000
const ZERO_WIDTH_SPACE = '\u200b'
const TURNING = /\p{Bidi_Control}/gu
/** Every bracket: the library's `maskedLink` escapes one link of a line, and a link may stand in two texts. */
const BRACKETS = /[<[\]]/g

/**
 * The words of somebody else as they stand: no formatting, no mention, no link with another face, nothing that turns
 * the order of letters round. One line, cut after `most` characters.
 */
export function plain(text: string, most = 200): string {
  const line = text.replace(TURNING, '').replace(/\s+/g, ' ').trim()
  const short = line.length > most ? `${line.slice(0, most - 1).toWellFormed()}…` : line
  const escaped = escapeMarkdown(short, { heading: true, bulletedList: true, numberedList: true })
  return escaped.replace(BRACKETS, '\\$&').replaceAll('@', `@${ZERO_WIDTH_SPACE}`)
}

/** An address that the chat platform makes a link of, without a preview; nothing where it is none. */
export function link(address: string): string {
  const url = URL.parse(address)
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:'
  return url && isWeb ? `<${url.href.replaceAll('>', '%3E').replaceAll('@', '%40')}>` : ''
}

/** The lines that fit into one message, and how many there are besides: `total` counts those that were not given too. */
export function fitted(head: string, lines: string[], total = lines.length): string {
  let text = head
  for (const [n, line] of lines.entries()) {
    const rest = total - n - 1
    const more = rest > 0 ? `\n${andMore(rest)}` : ''
    if (text.length + 1 + line.length + more.length > MOST_CHARS)
      return `${text}\n${andMore(total - n)}`
    text += `\n${line}`
  }
  return total > lines.length ? `${text}\n${andMore(total - lines.length)}` : text
}

const andMore = (count: number) => `… and ${count} more`
