import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError } from '@guildhall/service/errors'
import { Client, escapeIdentifier } from 'pg'
import type { Revision } from './shapes.ts'

interface Migration {
  name: string
  up: string
  down: string
  checksum: string
}

export interface MigrateOptions {
  url: string
  schema: string
  /** Folders of `NNNN_name.up.sql` and `.down.sql`; those of an earlier folder come first. */
  folders: readonly string[]
}

/**
 * Brings a schema to the newest revision, one transaction a step, and answers the names applied. Many may
 * call at once: one works, the others wait. Throws where the database is newer than this build or a
 * migration was edited after it ran.
 */
export function migrateUp(options: MigrateOptions): Promise<string[]> {
  return locked(options, async (client, known, applied) => {
    for (const { name, checksum } of applied) {
      const same = known.find((migration) => migration.name === name)
      if (!same) {
        throw new AppError(
          'conflict',
          'migration.unknown',
          `Schema ${options.schema} has migration ${name}, which this build does not know: run the newer build, or its "migrate down" first`,
        )
      }
      if (same.checksum !== checksum) {
        throw new AppError(
          'conflict',
          'migration.edited',
          `Migration ${name} of ${options.schema} was edited after it ran: add a new one instead`,
        )
      }
    }
    const missing = known.filter(({ name }) => !applied.some((done) => done.name === name))
    for (const { name, up, checksum } of missing) {
      await step(client, up, `insert into migrations (name, checksum) values ($1, $2)`, [
        name,
        checksum,
      ])
    }
    return missing.map(({ name }) => name)
  })
}

/** Takes the newest revision back and answers its name, or nothing where there is none. */
export function migrateDown(options: MigrateOptions): Promise<string | undefined> {
  return locked(options, async (client, known, applied) => {
    const name = applied.at(-1)?.name
    if (!name) return undefined
    const migration = known.find((one) => one.name === name)
    if (!migration)
      throw new Error(`This build does not know migration ${name} of ${options.schema}`)
    await step(client, migration.down, `delete from migrations where name = $1`, [name])
    return name
  })
}

/** The names of revisions that this build has and the schema, if there is one, has not. */
export async function pendingMigrations({
  url,
  schema,
  folders,
}: MigrateOptions): Promise<string[]> {
  const known = (await Promise.all(folders.map(readFolder))).flat()
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {}) // the query under way rejects with it
  await client.connect()
  try {
    const table = `${escapeIdentifier(schema)}.migrations`
    const made = await client.query(`select from pg_class where oid = to_regclass($1)`, [table])
    if (made.rowCount === 0) return known.map(({ name }) => name)
    const { rows } = await client.query<{ name: string }>(`select name from ${table}`)
    return known.map(({ name }) => name).filter((name) => !rows.some((row) => row.name === name))
  } finally {
    await client.end()
  }
}

/** The revisions that this build knows, in the order in which they are applied. */
export async function knownRevisions(folders: readonly string[]): Promise<Revision[]> {
  const known = (await Promise.all(folders.map(readFolder))).flat()
  return known.map(({ name, checksum }) => ({ name, checksum }))
}

type Applied = { name: string; checksum: string }[]

async function locked<T>(
  { url, schema, folders }: MigrateOptions,
  work: (client: Client, known: Migration[], applied: Applied) => Promise<T>,
): Promise<T> {
  const known = (await Promise.all(folders.map(readFolder))).flat()
  const client = new Client({
    connectionString: url,
    options: `-c search_path=${schema}`,
    connectionTimeoutMillis: 5_000,
  })
  client.on('error', () => {}) // the query under way rejects with it
  await client.connect()
  try {
    await client.query(`select pg_advisory_lock(hashtext('guildhall-migrate'), hashtext($1))`, [
      schema,
    ])
    await client.query(`create table if not exists migrations (
      position integer generated always as identity, name text primary key,
      checksum text not null, applied_at timestamptz not null default now())`)
    const { rows } = await client.query<Applied[0]>(
      'select name, checksum from migrations order by position',
    )
    return await work(client, known, rows)
  } finally {
    await client.end() // releases the lock
  }
}

async function step(client: Client, sql: string, record: string, values: string[]) {
  await client.query('begin')
  try {
    await client.query(sql)
    await client.query(record, values)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw new Error(`Migration ${values[0]} failed: ${(error as Error).message}`, { cause: error })
  }
}

async function readFolder(folder: string): Promise<Migration[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.up.sql')).sort()
  return Promise.all(
    files.map(async (file) => {
      const name = file.slice(0, -'.up.sql'.length)
      const up = await readFile(join(folder, file), 'utf8')
      const down = await readFile(join(folder, `${name}.down.sql`), 'utf8')
      return { name, up, down, checksum: createHash('sha256').update(up).digest('hex') }
    }),
  )
}
