import type { CalendarEvent } from '@guildhall/contracts/calendar'
import type { NotesEvent } from './read-page.ts'
import { spanOf } from './when.ts'

/** Those that end after `from` and start before `to`. */
export function overlapping(
  events: NotesEvent[],
  { from, to, timeZone }: { from: Date; to: Date | undefined; timeZone: string },
): NotesEvent[] {
  return events.filter(({ when }) => {
    const { start, end } = spanOf(when, timeZone)
    return end > from.getTime() && (to === undefined || start < to.getTime())
  })
}

export function shownEvent(event: NotesEvent): CalendarEvent {
  const { page_id: id, title, when, url } = event
  const [start, end] =
    'days' in when ? [when.days.first, when.days.last] : [when.instants.start, when.instants.end]
  const location = event.location || null
  return { id, title, start, end, location, description: event.description || null, url }
}
