/** When an event is: whole days, or from one instant to another. */
export type When =
  /** `last` is the last day itself. */
  { days: { first: string; last: string } } | { instants: { start: string; end: string } }

/** A date of the notes: YYYY-MM-DD, or a time with its offset, or a time in `time_zone`. */
export interface NotesDate {
  start: string
  end?: string | null | undefined
  time_zone?: string | null | undefined
}

const DAY = /^\d{4}-\d{2}-\d{2}$/
const HAS_OFFSET = /(Z|[+-]\d{2}:?\d{2})$/i
/** How long an event lasts whose end is not said (decisions.md § 6). */
const HOUR_MS = 3_600_000

/** What a date of the notes means; times that name no zone are in `timeZone`. A text says why it means nothing. */
export function whenOf(date: NotesDate, timeZone: string): When | string {
  const { start, end } = date
  if (DAY.test(start) !== DAY.test(end ?? start)) return 'its Date has a time at one end alone'
  try {
    if (DAY.test(start)) return daysOf(start, end ?? start)
    const zone = date.time_zone ?? timeZone
    return instantsOf(instantOf(start, zone), end ? instantOf(end, zone) : undefined)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return 'its Date cannot be read'
  }
}

function daysOf(first: string, last: string): When | string {
  const days = { first: Temporal.PlainDate.from(first), last: Temporal.PlainDate.from(last) }
  if (Temporal.PlainDate.compare(days.last, days.first) < 0) return BACKWARDS
  return { days: { first: days.first.toString(), last: days.last.toString() } }
}

function instantsOf(start: Temporal.Instant, end: Temporal.Instant | undefined): When | string {
  const until = end ?? start.add({ milliseconds: HOUR_MS })
  if (Temporal.Instant.compare(until, start) < 0) return BACKWARDS
  return { instants: { start: textOf(start), end: textOf(until) } }
}

const BACKWARDS = 'its Date ends before it starts'

function instantOf(text: string, timeZone: string): Temporal.Instant {
  if (HAS_OFFSET.test(text)) return Temporal.Instant.from(text)
  return Temporal.PlainDateTime.from(text).toZonedDateTime(timeZone).toInstant()
}

/** To the second, as calendars keep it. */
const textOf = (instant: Temporal.Instant) => instant.toString({ smallestUnit: 'second' })

/** The day after, with which calendars end an event of whole days. */
export const dayAfter = (day: string) => Temporal.PlainDate.from(day).add({ days: 1 }).toString()

/** From when until when an event is, in milliseconds since 1970; whole days begin at midnight in `timeZone`. */
export function spanOf(when: When, timeZone: string): { start: number; end: number } {
  if ('instants' in when)
    return { start: Date.parse(when.instants.start), end: Date.parse(when.instants.end) }
  const midnight = (day: string) =>
    Temporal.PlainDate.from(day).toZonedDateTime(timeZone).epochMilliseconds
  return { start: midnight(when.days.first), end: midnight(dayAfter(when.days.last)) }
}
