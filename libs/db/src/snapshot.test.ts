import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { cleanUp, until } from '@guildhall/service/testing'
import { Client } from 'pg'
import { migrateUp } from './migrate.ts'
import { readSnapshot } from './snapshot.ts'
import { testDatabase } from './testing.ts'

/** A schema with two tables of one row each, and a writer beside the reader. */
async function setUp(t: TestContext) {
  const url = await testDatabase(t)
  const writer = new Client({ connectionString: url })
  await writer.connect()
  cleanUp(t, () => writer.end())
  await writer.query('create schema shop')
  await migrateUp({ url, schema: 'shop', folders: [] })
  await writer.query('create table shop.orders (id int); create table shop.payments (id int)')
  const write = (id: number) =>
    writer.query(`insert into shop.orders values (${id}); insert into shop.payments values (${id})`)
  await write(1)
  return { url, writer, write }
}

test('a snapshot has the rows of its moment, whatever is written between two of its tables', async (t) => {
  const { url, write } = await setUp(t)
  const rows = await readSnapshot(url, ['shop'], async ({ tables }, rowsOf) => {
    const found: Record<string, string> = {}
    for (const [n, table] of tables.filter((one) => one.table !== 'migrations').entries()) {
      await write(n + 2)
      found[table.table] = await text(rowsOf(table))
    }
    return found
  })
  assert.deepEqual(rows, { orders: '1\n', payments: '1\n' })
})

/** A folder with one migration, which waits for an advisory lock of the test. */
async function slowMigration(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'guildhall-test-migrations-'))
  cleanUp(t, () => rm(folder, { recursive: true }))
  const up = 'select pg_advisory_xact_lock(1); create table refunds (id int)'
  await writeFile(join(folder, '0001_refunds.up.sql'), up)
  await writeFile(join(folder, '0001_refunds.down.sql'), 'drop table refunds')
  return folder
}

test('a snapshot that begins while a migration is under way waits, and has what it made', async (t) => {
  const { url, writer } = await setUp(t)
  const waiting = async (count: number) => {
    const { rowCount } = await writer.query(
      `select from pg_locks l join pg_database d on d.oid = l.database
        where d.datname = current_database() and locktype = 'advisory' and not granted`,
    )
    return rowCount === count
  }
  await writer.query('select pg_advisory_lock(1)')
  const migrated = migrateUp({ url, schema: 'shop', folders: [await slowMigration(t)] })
  await until(() => waiting(1))
  const read = readSnapshot(url, ['shop'], async (snapshot) => snapshot)
  await Promise.race([read, until(() => waiting(2))])
  await writer.query('select pg_advisory_unlock(1)')
  await migrated
  const { revisions, tables } = await read
  assert.deepEqual(
    revisions.shop?.map(({ name }) => name),
    ['0001_refunds'],
  )
  assert.ok(tables.some(({ table }) => table === 'refunds'))
})
