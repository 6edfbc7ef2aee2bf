import type { BusTables } from '@guildhall/bus/tables'
import type { AuditEvent } from '@guildhall/contracts/event'
import type { Db as AnyDb, Trx as AnyTrx } from '@guildhall/db/open'
import type { Generated, JSONColumnType } from 'kysely'

/** The folder of the migrations that make these tables. */
export const migrations = new URL('../migrations', import.meta.url).pathname

/** The tables of `migrations/`. */
export interface Tables extends BusTables {
  audit_entries: {
    id: string
    created_at: Date
    source: AuditEvent['source']
    action: string
    org_id: number | null
    actor_kind: AuditEvent['actor_kind']
    actor_id: string | null
    status: number | null
    details: JSONColumnType<Record<string, unknown>>
  }
  error_groups: {
    id: string
    fingerprint: string
    service: string
    org_id: number | null
    kind: string
    message: string
    location: string | null
    route: string | null
    stack: string | null
    count: Generated<number>
    first_seen: Date
    last_seen: Date
    resolved_at: Date | null
    resolved_by: string | null
    opened_by: string | null
  }
  error_alerts: {
    group_id: string
    target: 'org' | 'deployment'
    returned: boolean
    due_at: Generated<Date>
    attempts: Generated<number>
    held: Generated<boolean>
  }
  error_events_seen: { id: string; seen_at: Generated<Date> }
  resolved_notifications: {
    org_id: number
    id: string
    resolved_at: Date
    resolved_by: string
  }
  ci_repos: { org_id: number; repos: string[] }
  ticks: { job: string; due_at: Date }
}

export type Db = AnyDb<Tables>
export type Trx = AnyTrx<Tables>
