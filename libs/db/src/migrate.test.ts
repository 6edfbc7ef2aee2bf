import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { cleanUp } from '@guildhall/service/testing'
import { Client } from 'pg'
import { type MigrateOptions, migrateDown, migrateUp, pendingMigrations } from './migrate.ts'
import { testDatabase } from './testing.ts'

/** A schema of the test's own and a folder for its migrations. */
async function setUp(t: TestContext) {
  const url = await testDatabase(t)
  const folder = await mkdtemp(join(tmpdir(), 'guildhall-migrations-'))
  cleanUp(t, () => rm(folder, { recursive: true }))
  const client = new Client({ connectionString: url, options: '-c search_path=shop' })
  await client.connect()
  cleanUp(t, () => client.end())
  await client.query('create schema shop')
  const options: MigrateOptions = { url, schema: 'shop', folders: [folder] }
  const add = async (name: string, up: string, down: string) => {
    await writeFile(join(folder, `${name}.up.sql`), up)
    await writeFile(join(folder, `${name}.down.sql`), down)
  }
  const column = async (sql: string) =>
    (await client.query({ text: sql, rowMode: 'array' })).rows.flat()
  const applied = () => column('select name from shop.migrations order by position')
  const tables = () =>
    column(`select tablename::text from pg_tables where schemaname = 'shop' order by 1`)
  return { options, folder, add, column, applied, tables }
}

const addTwo = async (add: (name: string, up: string, down: string) => Promise<void>) => {
  await add('0002_b', 'create table b (a int references a)', 'drop table b')
  await add('0001_a', 'create table a (id int primary key)', 'drop table a')
}

test('migrations run in order, go back one at a time, and run again', async (t) => {
  const { options, add, tables, applied } = await setUp(t)
  await addTwo(add)
  assert.deepEqual(await pendingMigrations(options), ['0001_a', '0002_b'])
  assert.deepEqual(await migrateUp(options), ['0001_a', '0002_b'])
  assert.deepEqual(await migrateUp(options), [])
  assert.deepEqual(await tables(), ['a', 'b', 'migrations'])
  assert.deepEqual(await pendingMigrations(options), [])

  assert.equal(await migrateDown(options), '0002_b')
  assert.deepEqual(await tables(), ['a', 'migrations'])
  assert.deepEqual(await pendingMigrations(options), ['0002_b'])
  assert.equal(await migrateDown(options), '0001_a')
  assert.equal(await migrateDown(options), undefined)
  assert.deepEqual(await tables(), ['migrations'])

  assert.deepEqual(await migrateUp(options), ['0001_a', '0002_b'])
  assert.deepEqual(await applied(), ['0001_a', '0002_b'])
})

test('the migrations of an earlier folder come first', async (t) => {
  const { options, folder, add, applied } = await setUp(t)
  await add('0001_own', 'create table own (a int references common)', 'drop table own')
  const common = await mkdtemp(join(tmpdir(), 'guildhall-migrations-'))
  cleanUp(t, () => rm(common, { recursive: true }))
  await writeFile(join(common, '0009_common.up.sql'), 'create table common (id int primary key)')
  await writeFile(join(common, '0009_common.down.sql'), 'drop table common')
  await migrateUp({ ...options, folders: [common, folder] })
  assert.deepEqual(await applied(), ['0009_common', '0001_own'])
})

test('of ten processes that start at once each migration runs in one', async (t) => {
  const { options, add, applied, column } = await setUp(t)
  await addTwo(add)
  await add('0003_c', 'create table c (n int); insert into c values (1)', 'drop table c')
  const runs = await Promise.all(Array.from({ length: 10 }, () => migrateUp(options)))
  assert.deepEqual(runs.flat().sort(), ['0001_a', '0002_b', '0003_c'])
  assert.deepEqual(await applied(), ['0001_a', '0002_b', '0003_c'])
  assert.deepEqual(await column('select n from c'), [1])
})

test('a migration that fails leaves nothing of itself and all that went before', async (t) => {
  const { options, add, tables, applied } = await setUp(t)
  await addTwo(add)
  await add('0003_c', 'create table c (); insert into nowhere values (1)', 'drop table c')
  await assert.rejects(migrateUp(options), /Migration 0003_c failed: .*nowhere/)
  assert.deepEqual(await tables(), ['a', 'b', 'migrations'])
  assert.deepEqual(await applied(), ['0001_a', '0002_b'])

  await add('0003_c', 'create table c ()', 'drop table c')
  assert.deepEqual(await migrateUp(options), ['0003_c'])
})

test('a way back that fails leaves the revision as it was', async (t) => {
  const { options, add, tables, applied } = await setUp(t)
  await add('0001_a', 'create table a ()', 'drop table a; drop table nowhere')
  await migrateUp(options)
  await assert.rejects(migrateDown(options), /Migration 0001_a failed/)
  assert.deepEqual([await tables(), await applied()], [['a', 'migrations'], ['0001_a']])
})

test('a migration edited after it ran is refused', async (t) => {
  const { options, add, tables } = await setUp(t)
  await addTwo(add)
  await migrateUp(options)
  await add('0001_a', 'create table a (id bigint primary key)', 'drop table a')
  await add('0003_c', 'create table c ()', 'drop table c')
  await assert.rejects(migrateUp(options), /0001_a of shop was edited after it ran/)
  assert.deepEqual(await tables(), ['a', 'b', 'migrations'])
})

test('a database that is newer than the build is refused', async (t) => {
  const { options, folder, add } = await setUp(t)
  await addTwo(add)
  await migrateUp(options)
  await rm(join(folder, '0002_b.up.sql'))
  await assert.rejects(migrateUp(options), /has migration 0002_b, which this build does not know/)
  await assert.rejects(migrateDown(options), /does not know migration 0002_b/)
})
