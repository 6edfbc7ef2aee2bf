import type { SandboxCalendar, SandboxEvent, SandboxTime } from './world.ts'

/** An event as the calendar service answers it: times with the offset of the calendar. */
export function shownEvent(calendar: SandboxCalendar, event: SandboxEvent) {
  const { start, end, ...rest } = event
  return {
    kind: 'calendar#event',
    etag: `"${event.updated}"`,
    htmlLink: `https://calendar.sandbox.test/event?eid=${event.id}`,
    iCalUID: `${event.id}@google.com`,
    ...rest,
    start: shownTime(start, calendar.timeZone),
    end: shownTime(end, calendar.timeZone),
  }
}

function shownTime({ date, dateTime, timeZone }: SandboxTime, calendarZone: string): SandboxTime {
  if (!dateTime) return { date }
  const local = Temporal.Instant.from(dateTime).toZonedDateTimeISO(calendarZone)
  const text = local.toString({ timeZoneName: 'never', smallestUnit: 'second' })
  return { dateTime: text, timeZone: timeZone ?? calendarZone }
}
