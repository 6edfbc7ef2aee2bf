import type { Writable } from 'node:stream'
import { AppError } from '@guildhall/service/errors'
import { type Client, escapeIdentifier, escapeLiteral } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import {
  filledTables,
  qualified,
  type SequenceState,
  type TableShape,
  tablesOf,
  withClient,
} from './shapes.ts'
import { columnsOf } from './snapshot.ts'

/** A service that runs holds its tables for moments only; this long is a sign of one that works. */
const LOCK_MS = 5_000

/** One table's rows in COPY's text format; finish one before the next is asked for. */
export type FillOf = (table: TableShape) => Writable & { rowCount: number }

/** Runs a statement in the transaction that fills. */
export type Query = (text: string, values?: unknown[]) => Promise<unknown>

export interface RefillOptions {
  url: string
  /** The schemas, migrated and without rows. */
  schemas: readonly string[]
  sequences: readonly SequenceState[]
}

/**
 * Fills empty schemas by `work` in one transaction: all of it or nothing, and nobody else writes meanwhile.
 * Triggers do not run, since the rows hold what they did; references are checked at the end, for all rows.
 * Throws `restore.not_empty` where a table holds rows.
 */
export function refill<T>(
  { url, schemas, sequences }: RefillOptions,
  work: (fillOf: FillOf, query: Query) => Promise<T>,
): Promise<T> {
  return withClient(url, async (client) => {
    await client.query('begin')
    await client.query(`set local lock_timeout = ${LOCK_MS}`)
    const tables = await tablesOf(client, schemas)
    await client
      .query(`lock table ${tables.map(qualified).join(', ')} in access exclusive mode`)
      .catch((cause: Error) => {
        if ((cause as { code?: unknown }).code !== '55P03') throw cause // lock_not_available
        const message = 'Somebody uses the tables: stop every service, then restore'
        throw new AppError('conflict', 'restore.in_use', message, { cause })
      })
    await refuseFilled(client, schemas)

    const references = await dropReferences(client, schemas)
    for (const table of tables) {
      await client.query(`alter table ${qualified(table)} disable trigger user`)
      if (table.table === 'migrations') await client.query(`delete from ${qualified(table)}`)
    }
    const done = await work(
      (table) =>
        client.query(copyFrom(`copy ${qualified(table)} (${columnsOf(table)}) from stdin`)),
      (text, values) => client.query(text, values),
    )
    for (const table of tables)
      await client.query(`alter table ${qualified(table)} enable trigger user`)
    for (const reference of references) await client.query(reference)
    for (const { schema, sequence, last_value, is_called } of sequences) {
      const name = escapeLiteral(qualified({ schema, table: sequence }))
      await client.query(`select setval(${name}, $1, $2)`, [last_value, is_called])
    }
    await client.query('commit')
    return done
  })
}

/** Throws `restore.not_empty` where one of the schemas that are there holds rows. */
export async function refuseFilled(client: Client, schemas: readonly string[]) {
  const filled = await filledTables(client, schemas)
  if (filled.length === 0) return
  const named = `${filled.slice(0, 5).join(', ')}${filled.length > 5 ? ' and others' : ''}`
  const message = `The deployment is not empty: there are rows in ${named}. Restore into a new database, or into one where only migrate up has run`
  throw new AppError('conflict', 'restore.not_empty', message)
}

/** Drops the foreign keys, which may form circles, and answers the statements that make them again. */
async function dropReferences(client: Client, schemas: readonly string[]): Promise<string[]> {
  const { rows } = await client.query<{ schema: string; table: string; name: string; is: string }>(
    `select n.nspname as schema, c.relname as table, k.conname as name, pg_get_constraintdef(k.oid) as is
      from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = any($1) and k.contype = 'f' order by 1, 2, 3`,
    [schemas],
  )
  const again: string[] = []
  for (const { name, is, ...table } of rows) {
    const constraint = escapeIdentifier(name)
    await client.query(`alter table ${qualified(table)} drop constraint ${constraint}`)
    again.push(`alter table ${qualified(table)} add constraint ${constraint} ${is}`)
  }
  return again
}
