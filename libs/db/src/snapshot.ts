import type { Readable } from 'node:stream'
import { AppError } from '@guildhall/service/errors'
import { escapeIdentifier } from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import {
  qualified,
  type Revision,
  revisionsOf,
  type SequenceState,
  sequencesOf,
  type TableShape,
  tablesOf,
  withClient,
} from './shapes.ts'

/** What several schemas hold at one moment. */
export interface Snapshot {
  /** By the clock of the database. */
  taken_at: string
  revisions: Record<string, Revision[]>
  tables: TableShape[]
  sequences: SequenceState[]
}

/** The rows of one table in COPY's text format, read to their end before the next table is asked for. */
export type RowsOf = (table: TableShape) => Readable & { rowCount: number }

/**
 * Reads schemas in one repeatable-read transaction: every row as it was when the transaction began, whatever
 * is written meanwhile. Writers are not held up; a migration waits until `work` is done.
 */
export function readSnapshot<T>(
  url: string,
  schemas: readonly string[],
  work: (snapshot: Snapshot, rowsOf: RowsOf) => Promise<T>,
): Promise<T> {
  return withClient(url, async (client) => {
    const locks = schemas.map((schema) => [schema])
    // no migration may be under way when the transaction's moment is chosen
    for (const lock of locks)
      await client.query(
        `select pg_advisory_lock_shared(hashtext('guildhall-migrate'), hashtext($1))`,
        lock,
      )
    await client.query('begin isolation level repeatable read read only')
    const tables = await tablesOf(client, schemas)
    const missing = schemas.find((schema) => !tables.some((one) => one.schema === schema))
    if (missing) {
      const message = `The database has no schema ${missing}: DATABASE_URL must lead to the database of the services, and each must have started once`
      throw new AppError('not_found', 'backup.no_schema', message)
    }
    await client.query(`lock table ${tables.map(qualified).join(', ')} in access share mode`)
    await client.query('select pg_advisory_unlock_all()') // a service may start again meanwhile

    const revisions: Record<string, Revision[]> = {}
    for (const schema of schemas) revisions[schema] = await revisionsOf(client, schema)
    const { rows } = await client.query<{ now: Date }>('select now()')
    const taken_at = rows[0]?.now.toISOString() ?? ''
    const sequences = await sequencesOf(client, schemas)
    return work({ taken_at, revisions, tables, sequences }, (table) =>
      client.query(copyTo(`copy ${qualified(table)} (${columnsOf(table)}) to stdout`)),
    )
  })
}

/** The columns of a table as COPY takes them. */
export const columnsOf = ({ columns }: TableShape) => columns.map(escapeIdentifier).join(', ')
