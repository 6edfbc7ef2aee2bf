import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createLog } from '@guildhall/service/log'
import { cleanUp, until } from '@guildhall/service/testing'
import { sql } from 'kysely'
import { Client } from 'pg'
import { openDb } from './open.ts'
import { testDatabase } from './testing.ts'
import { violates } from './violations.ts'

interface Tables {
  people: { id: number; name: string; parent: number | null; seat: string | null }
}

async function database(t: TestContext) {
  const url = await testDatabase(t)
  const warned: string[] = []
  const to = { write: (line: string) => void warned.push(line) }
  const log = createLog('test', { format: 'json', level: 'warn', to })
  const db = openDb<Tables>({ url, schema: 'club', log })
  cleanUp(t, () => db.destroy())
  await sql`create schema club`.execute(db)
  await sql`create table people (
    id bigint primary key, name text constraint people_name unique constraint people_named check (name <> ''),
    parent bigint constraint people_parent references people,
    seat int4range, constraint people_seat exclude using gist (seat with &&))`.execute(db)
  return { db, url, warned, log }
}
const ada = { id: 1, name: 'ada', parent: null, seat: '[1,3)' }

test('tables are those of the schema, and counts are numbers', async (t) => {
  const { db } = await database(t)
  await db.insertInto('people').values(ada).execute()
  const { rows } = await sql`select count(*) as n, max(id) as id from club.people`.execute(db)
  assert.deepEqual(rows, [{ n: 1, id: 1 }])
})

test('a violation is known by the name of its constraint', async (t) => {
  const { db } = await database(t)
  await db.insertInto('people').values(ada).execute()
  const bob = { id: 2, name: 'bob', parent: null, seat: null }
  for (const [constraint, row] of [
    ['people_pkey', { ...bob, id: 1 }],
    ['people_name', { ...bob, name: 'ada' }],
    ['people_named', { ...bob, name: '' }],
    ['people_parent', { ...bob, parent: 9 }],
    ['people_seat', { ...bob, seat: '[2,4)' }],
  ] as const) {
    const error = await db
      .insertInto('people')
      .values(row)
      .execute()
      .catch((thrown) => thrown)
    assert.ok(violates(error, constraint), constraint)
    assert.ok(!violates(error, 'people_other'), constraint)
  }
  assert.ok(!violates(new Error('people_name'), 'people_name'))
  const broken = await sql`select * from nowhere`.execute(db).catch((thrown) => thrown)
  assert.ok(!violates(broken, 'people_name'))
})

test('the pool survives that all its connections are killed', async (t) => {
  const { db, url, warned } = await database(t)
  await Promise.all(Array.from({ length: 5 }, () => sql`select pg_sleep(0.05)`.execute(db)))
  const killer = new Client({ connectionString: url })
  await killer.connect()
  const { rowCount } = await killer.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'guildhall-club'`,
  )
  await killer.end()

  assert.equal(rowCount, 5)
  await until(
    () => warned.filter((line) => line.includes('Lost a database connection')).length === 5,
  )
  await db.insertInto('people').values(ada).execute()
})

test('a transaction whose connection is killed fails, and the next one works', async (t) => {
  const { db } = await database(t)
  const killed = db.transaction().execute(async (trx) => {
    await trx.insertInto('people').values(ada).execute()
    await sql`select pg_terminate_backend(pg_backend_pid())`.execute(trx)
  })
  await assert.rejects(killed)
  await db.transaction().execute((trx) => trx.insertInto('people').values(ada).execute())
})
