import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '@guildhall/service/errors'
import type { Log } from '@guildhall/service/log'
import { LRUCache } from 'lru-cache'
import type { Accounts } from '../clients/accounts.ts'
import type { Config } from '../config.ts'
import type { SettingsRow } from '../db.ts'
import { type NotesEvent, readPage } from './read-page.ts'
import { spanOf } from './when.ts'

/** How long events are kept (interface.md, Limits), and how soon a read that failed is tried again. */
const KEPT_MS = 5 * 60_000
const AGAIN_MS = 30_000
const ORGS_KEPT = 1_000

/** How long who asks waits for a read: where older events are in hand, and where there are none. */
const WAIT_MS = 2_000
const FIRST_WAIT_MS = 10_000
/** Of the read: somebody waits for it, and it is begun anew soon. */
const PATIENCE = { retries: 1, timeoutMs: 8_000 }

/** Told to whoever asks meanwhile: the events that there were, or why there are none. */
interface Kept {
  database: string
  events?: NotesEvent[]
  error?: unknown
  until: number
}

interface Reading {
  database: string
  /** On the clock of `performance`. */
  begun: number
  found: Promise<Kept>
}

/** The events of orgs as their notes have them, by when they start. */
export interface EventCache {
  /**
   * At most five minutes old; older ones where the notes do not answer, or not within two seconds: they are then read
   * on behind. Throws where there are none at all.
   */
  of(settings: SettingsRow | undefined): Promise<NotesEvent[]>
  /** The next who asks has them read again. */
  expire(orgId: number): void
}

export function createEventCache({
  accounts,
  config: { TIMEZONE },
  now,
  log,
}: {
  accounts: Accounts
  config: Config
  now: () => Date
  log: Log
}): EventCache {
  const kept = new LRUCache<number, Kept>({ max: ORGS_KEPT })
  const underWay = new Map<number, Reading>()

  async function read(settings: SettingsRow | undefined): Promise<NotesEvent[]> {
    const { notes, databaseId } = await accounts.notes(
      settings,
      new AbortController().signal,
      PATIENCE,
    )
    const pages = await notes.pages(databaseId)
    const events = pages.flatMap((page) => {
      const event = readPage(page, TIMEZONE)
      return 'reason' in event ? [] : [event]
    })
    const starts = new Map(events.map((event) => [event, spanOf(event.when, TIMEZONE).start]))
    return events.toSorted((a, b) => (starts.get(a) ?? 0) - (starts.get(b) ?? 0))
  }

  async function fetched(settings: SettingsRow, before: Kept | undefined): Promise<Kept> {
    const database = settings.notes_database_id ?? ''
    const at = now().getTime()
    try {
      return { database, events: await read(settings), until: at + KEPT_MS }
    } catch (error) {
      const events = before?.events && { events: before.events }
      if (!isOutlasted(error, events !== undefined)) throw error
      log.warn({ err: error, org: settings.org_id }, 'The events of an org could not be read')
      return { database, ...events, error, until: now().getTime() + AGAIN_MS }
    }
  }

  /** One read of an org at a time, whoever asks; one that was dropped on the way is not kept. */
  function refresh(settings: SettingsRow, before: Kept | undefined): Reading {
    const { org_id } = settings
    const database = settings.notes_database_id ?? ''
    const running = underWay.get(org_id)
    if (running?.database === database) return running
    const begun = performance.now()
    const reading = { database, begun, found: fetched(settings, before) }
    underWay.set(org_id, reading)
    const end = (found: Kept | undefined) => {
      if (underWay.get(org_id) !== reading) return
      underWay.delete(org_id)
      if (found) kept.set(org_id, found)
      else kept.delete(org_id)
    }
    reading.found.then(end, () => end(undefined)) // who waits is told
    return reading
  }

  const isYoung = (known: Kept | undefined) => known && known.until > now().getTime()

  async function refreshed(settings: SettingsRow, before: Kept | undefined) {
    const wait = before?.events ? WAIT_MS : FIRST_WAIT_MS
    return (await within(wait, refresh(settings, before))) ?? before
  }

  return {
    async of(settings) {
      if (!settings?.notes_database_id) return read(settings) // throws why
      const known = kept.get(settings.org_id)
      const before = known?.database === settings.notes_database_id ? known : undefined
      const found = isYoung(before) ? before : await refreshed(settings, before)
      if (found?.events) return found.events
      throw found?.error ?? stillReading()
    },
    expire(orgId) {
      underWay.delete(orgId)
      const known = kept.get(orgId)
      if (known) kept.set(orgId, { ...known, until: 0 })
    },
  }
}

/** What a read found, if it is over so many milliseconds after it began: those who come later wait less. */
async function within(ms: number, { begun, found }: Reading): Promise<Kept | undefined> {
  const over = new AbortController()
  const rest = Math.max(0, begun + ms - performance.now())
  try {
    return await Promise.race([found, sleep(rest, undefined, { signal: over.signal })])
  } finally {
    over.abort()
  }
}

/** What the notes said is kept for a while, what the org has to set is told at once. */
function isOutlasted(error: unknown, hasEvents: boolean): boolean {
  if (!(error instanceof AppError)) return false
  if (error.code.startsWith('notes.')) return true
  return hasEvents && !error.code.startsWith('calendar.')
}

const stillReading = () =>
  new AppError(
    'unavailable',
    'calendar.reading',
    'The events are being read from the notes database; try again in some seconds',
    { retryAfter: 5 },
  )
