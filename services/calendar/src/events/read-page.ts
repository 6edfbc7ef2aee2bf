import type { Skipped } from '@guildhall/contracts/calendar'
import type { NotesPage, Property } from '../clients/notes-shapes.ts'
import { type When, whenOf } from './when.ts'

/** An event as a page of the notes has it. */
export interface NotesEvent {
  page_id: string
  title: string
  when: When
  location: string
  description: string
  url: string
  edited_at: string
  /** The id of its event in the calendar, as it was written back. */
  event_id: string
}

/** What a database of events must have (interface.md, Calendar), and what each is called there. */
const REQUIRED = {
  Name: ['title', 'title'],
  Date: ['date', 'date'],
  Location: ['select', 'select'],
  Description: ['rich_text', 'text'],
  gcal_id: ['rich_text', 'text'],
} as const satisfies Record<string, readonly [Property['type'], string]>

/** Longest texts that the calendar service takes, in UTF-16 units; longer ones are cut. */
const MOST_TITLE_CHARS = 1_000
const MOST_DESCRIPTION_CHARS = 8_000

/** The event of a page, or why there is none. Times that name no zone are in `timeZone`. */
export function readPage(page: NotesPage, timeZone: string): NotesEvent | Skipped {
  const { properties } = page
  const title = textOf(properties.Name, MOST_TITLE_CHARS)
  const skipped = (reason: string): Skipped => ({ page: page.id, title, reason })
  for (const [name, [type, called]] of Object.entries(REQUIRED)) {
    if (properties[name]?.type !== type)
      return skipped(`the database lacks the property ${name} of type ${called}: add it`)
  }
  const { Date: date, Location: location } = properties
  if (date?.type !== 'date' || !date.date) return skipped('it has no Date: set one')
  const when = whenOf(date.date, timeZone)
  if (typeof when === 'string') return skipped(`${when}: correct it`)
  return {
    page_id: page.id,
    title: title || 'Untitled',
    when,
    location: textOf(location, MOST_TITLE_CHARS),
    description: textOf(properties.Description, MOST_DESCRIPTION_CHARS),
    url: page.url,
    edited_at: page.last_edited_time,
    event_id: textOf(properties.gcal_id, MOST_TITLE_CHARS),
  }
}

/**
 * The plain text, as calendars keep it: with `\n`, without other control characters and half characters, trimmed. Cut to
 * `most` before that, so that what is read back is the same.
 */
function textOf(property: Property | undefined, most: number): string {
  return rawText(property)
    .replace(/\r\n?/g, '\n')
    .replace(/[^\P{Cc}\n\t]/gu, '')
    .trim()
    .toWellFormed()
    .slice(0, most)
    .replace(/[\uD800-\uDBFF]$/, '')
    .trim()
}

function rawText(property: Property | undefined): string {
  const joined = (parts: { plain_text: string }[]) =>
    parts.map(({ plain_text }) => plain_text).join('')
  if (property?.type === 'title') return joined(property.title)
  if (property?.type === 'rich_text') return joined(property.rich_text)
  return property?.type === 'select' ? (property.select?.name ?? '') : ''
}
