import { AppError } from '@guildhall/service/errors'
import { Client, escapeIdentifier } from 'pg'

/** A table by its schema and name, and its columns but those that Postgres computes. */
export interface TableShape {
  schema: string
  table: string
  columns: string[]
}

/** A revision of a schema, as its table `migrations` has it. */
export interface Revision {
  name: string
  checksum: string
}

/** `schema.table` with what SQL needs around it. */
export const qualified = ({ schema, table }: Pick<TableShape, 'schema' | 'table'>) =>
  `${escapeIdentifier(schema)}.${escapeIdentifier(table)}`

/** However server and role are set: one way of writing values as text, no name found by chance, and time for large tables. */
const SESSION = {
  client_encoding: 'UTF8',
  datestyle: 'ISO',
  intervalstyle: 'postgres',
  timezone: 'UTC',
  extra_float_digits: '1',
  bytea_output: 'hex',
  search_path: 'pg_catalog',
  statement_timeout: '0',
  idle_in_transaction_session_timeout: '0',
}
const options = Object.entries(SESSION)
  .map(([name, value]) => `-c ${name}=${value}`)
  .join(' ')

/** A connection of its own, closed after `work`. Refusals of Postgres to show or change a schema are explained. */
export async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000, options })
  client.on('error', () => {}) // the query under way rejects with it
  await client.connect()
  try {
    return await work(client)
  } catch (cause) {
    if ((cause as { code?: unknown }).code !== '42501') throw cause // insufficient_privilege
    const said = (cause as Error).message
    const message = `${said}: the user of DATABASE_URL must be able to read and change every schema, so grant it the services' roles`
    throw new AppError('forbidden', 'database.not_owner', message, { cause })
  } finally {
    await client.end()
  }
}

/** Every table of the schemas, in the order of their names. */
export async function tablesOf(client: Client, schemas: readonly string[]): Promise<TableShape[]> {
  const { rows } = await client.query<TableShape>(
    `select n.nspname as schema, c.relname as table,
        array_agg(a.attname::text order by a.attnum) filter (where a.attgenerated = '') as columns
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
        join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      where n.nspname = any($1) and c.relkind = 'r' group by 1, 2 order by 1, 2`,
    [schemas],
  )
  return rows
}

/** The revisions of a schema in the order in which they were applied. */
export async function revisionsOf(client: Client, schema: string): Promise<Revision[]> {
  const table = qualified({ schema, table: 'migrations' })
  const { rows } = await client.query<Revision>(
    `select name, checksum from ${table} order by position`,
  )
  return rows
}

/** Where a sequence stands: what `setval` takes. */
export interface SequenceState {
  schema: string
  sequence: string
  last_value: string
  is_called: boolean
}

/** Every sequence of the schemas. A sequence knows no snapshot, so it stands at or past what a snapshot holds. */
export async function sequencesOf(
  client: Client,
  schemas: readonly string[],
): Promise<SequenceState[]> {
  const { rows } = await client.query<{ schema: string; sequence: string }>(
    `select n.nspname as schema, c.relname as sequence
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = any($1) and c.relkind = 'S' order by 1, 2`,
    [schemas],
  )
  const states: SequenceState[] = []
  for (const { schema, sequence } of rows) {
    const from = qualified({ schema, table: sequence })
    const found = await client.query(`select last_value::text, is_called from ${from}`)
    states.push({ schema, sequence, ...found.rows[0] })
  }
  return states
}

/** The tables that hold rows; `migrations` does not count. */
export async function filledTables(client: Client, schemas: readonly string[]): Promise<string[]> {
  const filled: string[] = []
  for (const shape of await tablesOf(client, schemas)) {
    if (shape.table === 'migrations') continue
    const { rowCount } = await client.query(`select from ${qualified(shape)} limit 1`)
    if (rowCount) filled.push(`${shape.schema}.${shape.table}`)
  }
  return filled
}

/** Throws unless both URLs lead to one database: only there can a snapshot of the one be used by the other. */
export async function checkSameDatabase(client: Client, otherUrl: string, name: string) {
  await client.query('begin')
  try {
    const { rows } = await client.query<{ id: string }>('select pg_export_snapshot() as id')
    await withClient(otherUrl, async (other) => {
      await other.query('begin isolation level repeatable read')
      await other.query(`set transaction snapshot '${rows[0]?.id}'`)
    })
  } catch (cause) {
    if (!/snapshot/.test((cause as Error).message)) throw cause
    const message = `${name} leads to another database than DATABASE_URL: one backup holds one database, so back that one up by its own tools`
    throw new AppError('conflict', 'backup.other_database', message, { cause })
  } finally {
    await client.query('rollback')
  }
}
