import type { Counts, Skipped } from '@guildhall/contracts/calendar'
import { AppError } from '@guildhall/service/errors'
import type { GoogleCalendars } from '../clients/google.ts'
import type { Notes } from '../clients/notes.ts'
import { bodyOf, type Plan, type Step } from './plan.ts'

/** Pages worked on at once: while one waits for the notes another is put into the calendar. */
const AT_ONCE = 8
/** Errors of one page alone: the others go on. */
const OF_ONE_PAGE = ['notes.refused', 'notes.not_found', 'google_calendar.refused']
/** Pages that a run names. */
export const MOST_SKIPPED = 1_000

interface Sides {
  notes: Notes
  calendars: GoogleCalendars
  calendarId: string
  orgId: number
  timeZone: string
  signal: AbortSignal
}

/**
 * Does what the plan says and counts it in `counts`. Every step may be repeated, so that one that was cut short is
 * finished by the next run. Throws at the first error that is not of one page alone.
 */
export async function applyPlan(sides: Sides, plan: Plan, counts: Counts): Promise<void> {
  const { calendars, calendarId } = sides
  await eachOf(plan.steps, sides.signal, async (step) => {
    try {
      await applyStep(sides, step)
      counts[COUNTED[step.change]] += 1
    } catch (error) {
      if (!(error instanceof AppError && OF_ONE_PAGE.includes(error.code))) throw error
      skip(counts, { page: step.event.page_id, title: step.event.title, reason: error.message })
    }
  })
  await eachOf(plan.remove, sides.signal, async (id) => {
    await calendars.remove(calendarId, id)
    counts.deleted += 1
  })
}

const COUNTED = { create: 'created', update: 'updated', none: 'unchanged' } as const

async function applyStep(sides: Sides, { event, event_id: id, change, writeBack }: Step) {
  const { notes, calendars, calendarId } = sides
  const body = { ...bodyOf(event, sides), id }
  if (change === 'create') await calendars.put(calendarId, body)
  if (change === 'update') await calendars.patch(calendarId, body)
  if (writeBack) await notes.writeEventId(event.page_id, id)
}

export function skip(counts: Counts, page: Skipped) {
  if (counts.skipped.length < MOST_SKIPPED) counts.skipped.push(page)
}

/** Works on a few at once; after an error none is begun any more, and it is thrown once those under way are over. */
async function eachOf<T>(items: T[], signal: AbortSignal, work: (item: T) => Promise<void>) {
  const waiting = items.values()
  let failed = false
  const worker = async () => {
    for (const item of waiting) {
      if (failed) return
      signal.throwIfAborted()
      await work(item).catch((error) => {
        failed = true
        throw error
      })
    }
  }
  const ended = await Promise.allSettled(Array.from({ length: AT_ONCE }, worker))
  const fault = ended.find((one) => one.status === 'rejected')
  if (fault) throw fault.reason
}
