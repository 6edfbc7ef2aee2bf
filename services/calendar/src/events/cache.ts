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

/** Told to whoever asks meanwhile: the events that there were, or why there are none. */
interface Kept {
  database: string
  events?: NotesEvent[]
  error?: unknown
  until: number
}

/** The events of orgs as their notes have them, by when they start. */
export interface EventCache {
  /** At most five minutes old; older ones where the notes do not answer. Throws where there are none at all. */
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
  const underWay = new Map<number, Promise<Kept>>()

  async function read(settings: SettingsRow | undefined): Promise<NotesEvent[]> {
    const { notes, databaseId } = await accounts.notes(settings, new AbortController().signal)
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
      if (!(error instanceof AppError && error.kind === 'upstream')) throw error
      log.warn({ err: error, org: settings.org_id }, 'The events of an org could not be read')
      const events = before?.events && { events: before.events }
      return { database, ...events, error, until: at + AGAIN_MS }
    }
  }

  /** One fetch of an org at a time, whoever asks; one that was dropped on the way is not kept. */
  function refresh(settings: SettingsRow, before: Kept | undefined): Promise<Kept> {
    const { org_id } = settings
    const running = underWay.get(org_id)
    if (running) return running
    const fetching = fetched(settings, before).then((found) => {
      if (underWay.get(org_id) !== fetching) return found
      underWay.delete(org_id)
      kept.set(org_id, found)
      return found
    })
    underWay.set(org_id, fetching)
    fetching.catch(() => underWay.get(org_id) === fetching && underWay.delete(org_id))
    return fetching
  }

  return {
    async of(settings) {
      if (!settings?.notes_database_id) return read(settings) // throws why
      const known = kept.get(settings.org_id)
      const before = known?.database === settings.notes_database_id ? known : undefined
      const counts = before && before.until > now().getTime()
      const found = counts ? before : await refresh(settings, before)
      if (!found.events) throw found.error
      return found.events
    },
    expire(orgId) {
      underWay.delete(orgId)
      const known = kept.get(orgId)
      if (known) kept.set(orgId, { ...known, until: 0 })
    },
  }
}
