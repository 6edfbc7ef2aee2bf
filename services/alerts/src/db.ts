import type { BusTables } from '@guildhall/bus/tables'
import type { FeedKind, ItemState } from '@guildhall/contracts/alerts'
import type { Db as AnyDb, Trx as AnyTrx } from '@guildhall/db/open'
import type { ColumnType, Generated, GeneratedAlways, Selectable } from 'kysely'
import type { Embed } from './items/embed.ts'

/** The folder of the migrations that make these tables. */
export const migrations = new URL('../migrations', import.meta.url).pathname

/** Read as what was stored, written as its text. */
type Json<T> = ColumnType<T, string, string>

/** The tables of `migrations/`. */
export interface Tables extends BusTables {
  feeds: {
    id: string
    org_id: number
    key: string
    kind: FeedKind
    config: Json<Record<string, unknown>>
    every_hours: number
    enabled: boolean
    seeded_at: Date | null
    seeded_sources: Generated<string[]>
    last_run_at: Date | null
    last_error: string | null
    posted: Generated<number>
    lease_id: string | null
    leased_until: Date | null
    created_at: Date
  }
  items: {
    id: string
    feed_id: string
    key: string
    seq: GeneratedAlways<string>
    title: string
    url: string | null
    embed: Json<Embed>
    state: ItemState
    claim_id: string | null
    claimed_until: Date | null
    refusals: Generated<number>
    error: string | null
    created_at: Date
    listed_at: Date
  }
  alert_runs: {
    id: string
    feed_id: string
    started_at: Date
    duration_ms: number
    found: number
    new: number
    posted: number
    error: string | null
  }
}

export type Db = AnyDb<Tables>
export type Trx = AnyTrx<Tables>
export type FeedRow = Selectable<Tables['feeds']>
