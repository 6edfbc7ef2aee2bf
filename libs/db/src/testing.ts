import { rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { newId } from '@guildhall/service/id'
import { createLog } from '@guildhall/service/log'
import { cleanUp } from '@guildhall/service/testing'
import { Client } from 'pg'
import { startPostgres } from './embedded.ts'

/** Where the test run's own Postgres listens, as its owner; set by the run's global set-up. */
export const TEST_POSTGRES_URL = 'GUILDHALL_TEST_POSTGRES_URL'

/** A Postgres for tests: no write waits for the disk. */
export async function startTestPostgres() {
  const dir = await mkdtemp(join(tmpdir(), 'guildhall-test-postgres-'))
  // the runner's forced exit does not wait for `stop`
  process.once('exit', () => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }))
  const log = createLog('postgres', { format: 'json', level: 'error' })
  const durability = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }
  // several stacks run at once
  const sizes = { max_wal_size: '256MB', max_connections: '400' }
  const settings = { ...durability, ...sizes, scram_iterations: '1' } // a guess at a test's password costs what it likes
  const postgres = await startPostgres({ dir, password: newId(), log, settings })
  const stop = async () => {
    await postgres.stop()
    await rm(dir, { recursive: true, force: true })
  }
  return { url: postgres.url, stop }
}

/** What a test's database is a copy of: made by `prepare`, the first time in a run that somebody asks for the name. */
export interface Template {
  name: string
  prepare(url: string): Promise<void>
}

/** The owner's URL of a new database, empty or a copy of `template`, that is dropped after the test. */
export async function testDatabase(
  t: Pick<TestContext, 'after'>,
  template?: Template,
): Promise<string> {
  const server = await testServer(t)
  const name = `test_${newId().replaceAll('-', '')}`
  const from = template && process.env[TEST_POSTGRES_URL] ? await made(server, template) : undefined
  await runOn(server, `create database ${name} ${from ? `template ${from}` : ''}`)
  cleanUp(t, () => runOn(server, `drop database ${name} with (force)`))
  return urlOf(server, name)
}

/** The template's database. Of many test files that ask at once, one makes it. */
async function made(server: string, { name, prepare }: Template): Promise<string> {
  const client = new Client({ connectionString: server })
  await client.connect()
  try {
    await client.query(`select pg_advisory_lock(hashtext($1))`, [name]) // until the end of the connection
    const found = await client.query(`select from pg_database where datname = $1`, [name])
    if (found.rowCount) return name
    const unfinished = `${name}_unfinished`
    await client.query(`drop database if exists ${unfinished} with (force)`)
    await client.query(`create database ${unfinished}`)
    await prepare(urlOf(server, unfinished))
    await client.query(`alter database ${unfinished} rename to ${name}`)
    return name
  } finally {
    await client.end()
  }
}

function urlOf(server: string, database: string) {
  const url = new URL(server)
  url.pathname = database
  return url.href
}

/** A test file run by itself has no global set-up: then the test starts a Postgres of its own. */
async function testServer(t: Pick<TestContext, 'after'>) {
  const shared = process.env[TEST_POSTGRES_URL]
  if (shared) return shared
  const { url, stop } = await startTestPostgres()
  cleanUp(t, stop)
  return url
}

async function runOn(url: string, sql: string) {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
