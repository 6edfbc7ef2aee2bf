import type { BusTables } from '@guildhall/bus/tables'
import type { Skipped } from '@guildhall/contracts/calendar'
import type { PostState } from '@guildhall/contracts/event-posts'
import type { Db as AnyDb, Trx as AnyTrx } from '@guildhall/db/open'
import type { ColumnType, Generated, Selectable } from 'kysely'

/** The folder of the migrations that make these tables. */
export const migrations = new URL('../migrations', import.meta.url).pathname

/** The tables of `migrations/`. */
export interface Tables extends BusTables {
  settings: {
    org_id: number
    notes_database_id: string | null
    google_calendar_id: string | null
    calendar_sync_enabled: boolean
    calendar_marker: string
    last_sync_at: Date | null
    updated_at: Date
  }
  assignments: { kind: 'notes' | 'calendar'; outside_id: string; org_id: number }
  runs: {
    id: string
    org_id: number
    force: boolean
    status: Generated<'started' | 'success' | 'failed'>
    created: Generated<number>
    updated: Generated<number>
    deleted: Generated<number>
    unchanged: Generated<number>
    skipped: ColumnType<Skipped[], string | undefined, string>
    error: string | null
    code: string | null
    started_at: Date
    finished_at: Date | null
    lease_id: string | null
    leased_until: Date | null
  }
  post_settings: {
    org_id: number
    events_post_at: string | null
    channel_id: string | null
    time_zone: string | null
    changed_at: Date
  }
  event_posts: {
    org_id: number
    day: string
    state: PostState
    claim_id: string | null
    claimed_until: Date | null
    events: Generated<number>
    error: string | null
    updated_at: Generated<Date>
  }
}

export type Db = AnyDb<Tables>
export type Trx = AnyTrx<Tables>
export type SettingsRow = Selectable<Tables['settings']>
export type PostSettingsRow = Selectable<Tables['post_settings']>
export type PostRow = Pick<
  Selectable<Tables['event_posts']>,
  'day' | 'state' | 'events' | 'error' | 'updated_at'
>
export type RunRow = Selectable<Tables['runs']>
