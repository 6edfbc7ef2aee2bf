import type { Log } from '@guildhall/service/log'
import { type Kysely, Kysely as KyselyDb, PostgresDialect, type Transaction } from 'kysely'
import { Pool, types } from 'pg'

/** A database or a transaction: a query that takes it is right anywhere. */
export type Db<T> = Kysely<T>
/** A transaction only. */
export type Trx<T> = Transaction<T>

const MOST_CONNECTIONS = 5
const CONNECT_TIMEOUT_MS = 5_000
const STATEMENT_TIMEOUT_MS = 30_000
/** Counted here: a server that is unreachable cannot count its own. */
const QUERY_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 5_000

// counts and our own bigints stay far below 2^53
types.setTypeParser(types.builtins.INT8, Number)

export interface OpenOptions {
  url: string
  /** The schema whose tables are meant. */
  schema: string
  log: Log
}

/** Opens a pool. A lost connection is logged and replaced at the next query. */
export function openDb<T>({ url, schema, log }: OpenOptions): Kysely<T> & AsyncDisposable {
  const pool = new Pool({
    connectionString: url,
    max: MOST_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
    idle_in_transaction_session_timeout: STATEMENT_TIMEOUT_MS,
    application_name: `guildhall-${schema}`,
    options: `-c search_path=${schema}`,
  })
  // without this a killed idle connection is an uncaught error
  pool.on('error', (error) => log.warn({ err: error }, 'Lost a database connection'))
  // and the same of one in use; the query or transaction under way rejects with it
  pool.on('connect', (client) => client.on('error', () => {}))
  return new KyselyDb<T>({ dialect: new PostgresDialect({ pool }) })
}
