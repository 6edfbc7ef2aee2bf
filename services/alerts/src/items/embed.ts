import type { Found } from './found.ts'

/** Longest parts of a message (Discord's limits of embeds); cut texts end in an ellipsis. */
const MOST_TITLE = 256
const MOST_VALUE = 1024
const MOST_FOOTER = 2048
const MOST_URL = 2000

/** An item as the chat platform shows it. */
export interface Embed {
  title: string
  url?: string
  fields: { name: string; value: string; inline: boolean }[]
  footer: { text: string }
}

/** The message of an item. What a stranger wrote into a list neither formats, links nor mentions. */
export function embedOf({
  title,
  url,
  fields,
  footer,
}: Pick<Found, 'title' | 'url' | 'fields' | 'footer'>): Embed {
  const shown = Object.entries(fields).filter(([, value]) => value !== '')
  return {
    title: cut(escaped(title), MOST_TITLE),
    ...(url !== null && url.length <= MOST_URL && { url }),
    fields: shown.map(([name, value]) => ({
      name,
      value: cut(escaped(value), MOST_VALUE),
      inline: true,
    })),
    footer: { text: cut(footer, MOST_FOOTER) },
  }
}

/** The body of a post: the embed, and nobody is called by it. */
export const messageOf = (embed: Embed) => ({ embeds: [embed], allowed_mentions: { parse: [] } })

/** A colon before slashes as well: a bare address is made a link. */
const escaped = (text: string) => text.replace(/[\\*_~`|<>[\]#]|:(?=\/\/)/g, '\\$&')

/** Whole characters only, and none that is half escaped. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text
  const kept = text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, '')
  return `${kept.replace(/(^|[^\\])(\\\\)*\\$/, (end) => end.slice(0, -1))}…`
}
