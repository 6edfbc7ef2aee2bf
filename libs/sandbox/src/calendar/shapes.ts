import { z } from 'zod'

/** What the calendar service takes (Google Calendar v3), as far as events are written. */

const Day = z.iso.date()
const Time = z
  .object({
    date: Day.nullish(),
    dateTime: z.iso.datetime({ offset: true }).nullish(),
    timeZone: z.string().nullish(),
  })
  .refine(({ date, dateTime }) => Boolean(date) !== Boolean(dateTime), 'one of date and dateTime')

const EventFields = z.object({
  summary: z.string(),
  description: z.string().max(8_192),
  location: z.string(),
  status: z.enum(['confirmed', 'tentative', 'cancelled']),
  start: Time,
  end: Time,
  extendedProperties: z.object({
    private: z.record(z.string().max(44), z.string().max(1_024)).optional(),
    shared: z.record(z.string().max(44), z.string().max(1_024)).optional(),
  }),
})

/** The id is base32hex: digits and a to v. */
const EventId = z.string().regex(/^[a-v0-9]{5,1024}$/)

export const NewEvent = EventFields.partial()
  .extend({ id: EventId.optional(), start: Time, end: Time })
  .refine(endsAfter, 'the specified time range is empty')
export const EventPatch = EventFields.partial()

export const NewCalendar = z.object({
  summary: z.string().min(1),
  description: z.string().optional(),
  timeZone: z.string().optional(),
})

export const Listed = z.object({
  maxResults: z.coerce.number().int().min(1).max(2_500).default(250),
  pageToken: z.string().optional(),
})

type Times = { start: z.output<typeof Time>; end: z.output<typeof Time> }

/** Days end exclusively, so that one day is no empty range. */
export function endsAfter({ start, end }: Times): boolean {
  if (Boolean(start.date) !== Boolean(end.date)) return false
  if (start.date) return start.date < (end.date ?? '')
  return Date.parse(start.dateTime ?? '') <= Date.parse(end.dateTime ?? '')
}
