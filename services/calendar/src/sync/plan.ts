import { AppError } from '@guildhall/service/errors'
import type { GoogleEvent } from '../clients/google.ts'
import type { NotesEvent } from '../events/read-page.ts'
import { dayAfter } from '../events/when.ts'

/** Losing more of these than half of all is taken for a mistake (decisions.md § 6). */
const FEW = 5

/** An event of the calendar that came from a page. */
interface Ours extends GoogleEvent {
  id: string
  page_id: string
}

/** What is to be done to a page's event, and whether its id is still to be written back. */
export interface Step {
  event: NotesEvent
  event_id: string
  change: 'create' | 'update' | 'none'
  writeBack: boolean
}
/** Whose events they are, and the time zone in which calendars show them. */
export interface Target {
  orgId: number
  timeZone: string
}
export interface Plan {
  steps: Step[]
  /** Ids of the events whose page is gone, and of those beside the one that counts. */
  remove: string[]
}

/** The id of a page's event is made from the page's, so that two runs cannot make two; letters a to v and digits. */
export const eventIdOf = (pageId: string) => `guildhall${pageId.replaceAll('-', '')}`

/**
 * What makes the calendar the same as the notes. Only events with a `sourcePageId` are looked at, and the event of a
 * skipped page stays as it is. Throws `calendar.shrunk` where more than half of the pages are gone, unless `force`.
 */
export function planOf(
  notes: { events: NotesEvent[]; skippedPages: string[] },
  existing: GoogleEvent[],
  { force, timeZone, orgId }: Target & { force: boolean },
): Plan {
  const ours = Map.groupBy(
    existing.flatMap((event) => asOurs(event, orgId)),
    ({ page_id }) => page_id,
  )
  const skipped = new Set(notes.skippedPages)
  const steps = notes.events.map((event) =>
    stepOf(event, ours.get(event.page_id) ?? [], { timeZone, orgId }),
  )
  const kept = new Map(steps.map(({ event, event_id }) => [event.page_id, event_id]))
  const gone = [...ours.keys()].filter((page) => !kept.has(page) && !skipped.has(page))
  if (!force && gone.length > FEW && gone.length > ours.size / 2)
    throw shrunk(gone.length, ours.size)
  const others = [...ours].flatMap(([page, events]) =>
    kept.has(page) ? events.filter(({ id }) => id !== kept.get(page)) : [],
  )
  const left = gone.flatMap((page) => ours.get(page) ?? [])
  return { steps, remove: [...others, ...left].map(({ id }) => id) }
}

/**
 * Changed single dates of a series that somebody made of an event are the calendar's own, and events of another org that
 * writes into the same calendar are that org's.
 */
function asOurs(event: GoogleEvent, orgId: number): Ours[] {
  const { id, recurringEventId, status, extendedProperties: properties } = event
  const page_id = properties?.private?.sourcePageId ?? properties?.shared?.sourcePageId
  if (!id || !page_id || recurringEventId || status === 'cancelled') return []
  const { guildhallOrg = String(orgId) } = properties?.private ?? {}
  if (guildhallOrg !== String(orgId)) return []
  return [{ ...event, id, page_id }]
}

function stepOf(event: NotesEvent, found: Ours[], target: Target): Step {
  const own = eventIdOf(event.page_id)
  const counts =
    found.find(({ id }) => id === event.event_id) ??
    found.find(({ id }) => id === own) ??
    found.toSorted((a, b) => String(a.created).localeCompare(String(b.created)))[0]
  const event_id = counts?.id ?? own
  const writeBack = event.event_id !== event_id
  if (!counts) return { event, event_id, writeBack, change: 'create' }
  const same = isSame(bodyOf(event, target), counts)
  return { event, event_id, writeBack, change: same ? 'none' : 'update' }
}

/** The event as the calendar service takes it; what is null empties a field. */
export function bodyOf(event: NotesEvent, { timeZone, orgId }: Target): GoogleEvent {
  const { when, title, location, description, page_id } = event
  const [start, end] =
    'days' in when
      ? [when.days.first, dayAfter(when.days.last)].map((date) => ({ date, dateTime: null }))
      : [when.instants.start, when.instants.end].map((dateTime) => ({
          dateTime,
          date: null,
          timeZone,
        }))
  return {
    summary: title,
    location,
    description,
    ...(start && { start }),
    ...(end && { end }),
    extendedProperties: { private: { sourcePageId: page_id, guildhallOrg: String(orgId) } },
  }
}

function isSame(wanted: GoogleEvent, found: GoogleEvent): boolean {
  return (
    wanted.summary === (found.summary ?? '') &&
    wanted.location === (found.location ?? '') &&
    wanted.description === (found.description ?? '') &&
    isSameTime(wanted.start, found.start) &&
    isSameTime(wanted.end, found.end)
  )
}

/** The calendar service answers a time with the offset of its calendar. */
function isSameTime(wanted: GoogleEvent['start'], found: GoogleEvent['start']): boolean {
  if (wanted?.date) return wanted.date === found?.date
  return (
    Boolean(found?.dateTime) &&
    Date.parse(wanted?.dateTime ?? '') === Date.parse(found?.dateTime ?? '')
  )
}

const shrunk = (gone: number, all: number) =>
  new AppError(
    'conflict',
    'calendar.shrunk',
    `${gone} of ${all} events would be deleted, because their pages are not in the notes database any more; nothing was changed. Check notes_database_id; if they are meant to go, sync with ?force=true`,
  )
