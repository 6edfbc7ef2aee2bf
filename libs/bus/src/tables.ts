import type { ColumnType, Generated, JSONColumnType } from 'kysely'

/** The tables that `migrations/` adds to the schema of each service. */
export interface BusTables {
  outbox: {
    /** UUIDv7, so in the order of writing; also the message id. */
    id: string
    stream: string
    subject: string
    payload: JSONColumnType<object>
    created_at: Generated<Date>
    sent_at: Date | null
    stream_seq: number | null
  }
  job_runs: {
    id: string
    job: string
    args: JSONColumnType<Record<string, unknown>>
    state: 'queued' | 'running' | 'done' | 'failed'
    attempts: Generated<number>
    queued_at: Generated<Date>
    started_at: Date | null
    finished_at: Date | null
    error: string | null
    result: ColumnType<unknown, string | null, string | null>
    /** Where the arguments name an org. */
    org_id: number | null
  }
  idempotency_keys: {
    caller: string
    route: string
    key: string
    body_sha256: string
    /** Null while the transaction that writes it has not committed: then nobody else sees the row. */
    answer: ColumnType<unknown, string | null, string>
    created_at: Generated<Date>
  }
}

/** The folder of their migrations; it comes before the service's own. */
export const busMigrations = new URL('../migrations', import.meta.url).pathname
