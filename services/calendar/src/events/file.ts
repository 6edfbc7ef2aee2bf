import ical, { ICalCalendarMethod } from 'ical-generator'
import type { NotesEvent } from './read-page.ts'
import { dayAfter } from './when.ts'

/** How often programs that subscribe should look again. */
const LOOK_AGAIN_SECONDS = 3_600

/** The events as a calendar program takes them (RFC 5545). */
export function fileOf(name: string, events: NotesEvent[]): string {
  const file = ical({
    name: headerText(name),
    prodId: { company: 'Guildhall', product: 'Calendar' },
    method: ICalCalendarMethod.PUBLISH,
    ttl: LOOK_AGAIN_SECONDS,
  })
  for (const { page_id, title, when, location, description, url, edited_at } of events) {
    file.createEvent({
      id: `${page_id}@guildhall`,
      summary: title,
      stamp: new Date(edited_at),
      lastModified: new Date(edited_at),
      ...timesOf(when),
      ...(location && { location }),
      ...(description && { description }),
      ...(URL.canParse(url) && { url }),
    })
  }
  return file.toString()
}

/** The name of the file is written as it is: on one line, with RFC 5545 § 3.3.11 kept. */
const headerText = (text: string) =>
  text
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .replace(/[\\;,]/g, '\\$&')

/** Whole days end with the day after their last (RFC 5545 § 3.6.1); days are written as they stand in UTC. */
function timesOf(when: NotesEvent['when']) {
  if ('instants' in when)
    return { start: new Date(when.instants.start), end: new Date(when.instants.end) }
  const { first, last } = when.days
  return { allDay: true, start: new Date(first), end: new Date(dayAfter(last)) }
}
