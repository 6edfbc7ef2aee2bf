import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { cleanUp } from '@guildhall/service/testing'
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
  return { url, write }
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
