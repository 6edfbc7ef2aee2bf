import type { NotesEvent } from '../events/read-page.ts'
import { overlapping } from '../events/rules.ts'
import { dayAfter } from '../events/when.ts'

/** How long after its time a post still goes out; later it would be no news. */
export const LATE_HOURS = 6
const HOUR_MS = 3_600_000

/** When an org wants its post. */
export interface Wanted {
  /** HH:MM */
  events_post_at: string
  time_zone: string
  /** Before that nothing was wanted: a time that is set in the afternoon begins the next morning. */
  changed_at: Date
}

/**
 * The day whose post is due: the last one whose time has come. `late` where it is too late for it. Nothing where its time
 * came before it was wanted. A time that the clock leaves out is an hour later, one that comes twice the first.
 */
export function dueDay(
  { events_post_at, time_zone, changed_at }: Wanted,
  now: Date,
): { day: string; late: boolean } | undefined {
  const today = Temporal.Instant.fromEpochMilliseconds(now.getTime())
    .toZonedDateTimeISO(time_zone)
    .toPlainDate()
  const plainTime = Temporal.PlainTime.from(events_post_at)
  const timeOf = (day: Temporal.PlainDate) =>
    day.toZonedDateTime({ timeZone: time_zone, plainTime }).epochMilliseconds
  const day = timeOf(today) <= now.getTime() ? today : today.subtract({ days: 1 })
  const due = timeOf(day)
  if (due < changed_at.getTime()) return undefined
  return { day: day.toString(), late: now.getTime() - due >= LATE_HOURS * HOUR_MS }
}

/** The events that are on this day in this time zone, also those that began before. */
export function eventsOn(events: NotesEvent[], day: string, timeZone: string): NotesEvent[] {
  const midnight = (date: string) =>
    new Date(Temporal.PlainDate.from(date).toZonedDateTime(timeZone).epochMilliseconds)
  return overlapping(events, { from: midnight(day), to: midnight(dayAfter(day)), timeZone })
}
