import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { isDatabaseAway } from '@guildhall/service/errors'
import { cleanUp } from '@guildhall/service/testing'
import { Client } from 'pg'
import { checkRole, provision, roleUrl } from './provision.ts'
import { startTestPostgres, testDatabase } from './testing.ts'

const KEY = '11'.repeat(32)
const DENIED = { code: '42501' }
const BAD_PASSWORD = { code: '28P01' }

async function run(url: string, sql: string) {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const result = await client.query({ text: sql, rowMode: 'array' })
    return result.rows?.flat() // several statements answer a list of results
  } finally {
    await client.end()
  }
}

async function twoServices(t: TestContext) {
  const owner = await testDatabase(t)
  for (const service of ['auth', 'ops']) await provision(owner, service, KEY)
  const [auth, ops] = ['auth', 'ops'].map((service) => roleUrl(owner, service, KEY))
  await run(
    String(auth),
    `create table auth.secrets (value text); insert into auth.secrets values ('s')`,
  )
  return { owner, auth: String(auth), ops: String(ops) }
}

test('a role does in its own schema what it likes', async (t) => {
  const { auth } = await twoServices(t)
  assert.deepEqual(await run(auth, 'select value from auth.secrets'), ['s'])
  await run(auth, 'alter table auth.secrets add column n int; drop table auth.secrets')
})

test("a role can neither read, write nor change another service's schema", async (t) => {
  const { ops } = await twoServices(t)
  for (const sql of [
    'select * from auth.secrets',
    `insert into auth.secrets values ('x')`,
    'drop table auth.secrets',
    'create table auth.mine ()',
    'drop schema auth cascade',
    'grant usage on schema auth to guildhall_ops',
  ]) {
    await assert.rejects(run(ops, sql), DENIED, sql)
  }
})

test('a role can make nothing outside its schema and become nobody else', async (t) => {
  const { ops } = await twoServices(t)
  for (const sql of [
    'create table public.mine ()',
    'create schema mine',
    'create database mine',
    'create role mine',
    'set role guildhall_auth',
    `alter role guildhall_auth password 'x'`,
    'select rolpassword from pg_authid',
    `copy (select 1) to program 'true'`,
  ]) {
    await assert.rejects(run(ops, sql), DENIED, sql)
  }
})

test('a role has its own password, and the key gives it', async (t) => {
  const { owner, ops } = await twoServices(t)
  const swapped = new URL(ops)
  swapped.username = 'guildhall_auth'
  await assert.rejects(run(swapped.href, 'select 1'), BAD_PASSWORD)
  await assert.rejects(run(roleUrl(owner, 'ops', '22'.repeat(32)), 'select 1'), BAD_PASSWORD)
})

test('a new key takes the old password away and leaves the tables', async (t) => {
  const { url, stop } = await startTestPostgres() // roles belong to the whole server
  cleanUp(t, stop)
  await provision(url, 'auth', KEY)
  await run(roleUrl(url, 'auth', KEY), 'create table auth.kept (n int)')
  const newKey = '99'.repeat(32)
  await provision(url, 'auth', newKey, { newKey: 'accepted' })
  assert.deepEqual(
    await run(roleUrl(url, 'auth', newKey), 'select count(*)::int from auth.kept'),
    [0],
  )
  await assert.rejects(run(roleUrl(url, 'auth', KEY), 'select 1'), (error) => {
    assert.equal((error as { code?: unknown }).code, BAD_PASSWORD.code)
    return isDatabaseAway(error) // who asks while the old key is in use is answered 503
  })
})

test('an owner that is no superuser can make roles and schemas', async (t) => {
  const { url, stop } = await startTestPostgres()
  cleanUp(t, stop)
  await run(url, `create role landlord login createrole password 'p'`)
  await run(url, 'create database club owner landlord')
  const owner = new URL(url)
  owner.username = 'landlord'
  owner.password = 'p'
  owner.pathname = 'club'
  await provision(owner.href, 'auth', KEY)
  await provision(owner.href, 'auth', KEY)
  await run(roleUrl(owner.href, 'auth', KEY), 'create table auth.made ()')
})

test('ten processes may provision at once, also in several databases of one server', async (t) => {
  const { url, stop } = await startTestPostgres()
  cleanUp(t, stop)
  const names = ['one', 'two', 'three', 'four', 'five']
  for (const name of names) await run(url, `create database ${name}`)
  const owners = names.map((name) => Object.assign(new URL(url), { pathname: name }).href)
  const tasks = [...owners, ...owners].map((owner) => provision(owner, 'ops', KEY))
  await Promise.all(tasks)
  for (const owner of owners) {
    assert.deepEqual(await run(roleUrl(owner, 'ops', KEY), 'select 1'), [1])
  }
})

test('a deployment on the server of another leaves it its roles, and is told to take a server of its own', async (t) => {
  const { url, stop } = await startTestPostgres()
  cleanUp(t, stop)
  for (const name of ['club', 'trial']) await run(url, `create database ${name}`)
  const [club, trial] = ['club', 'trial'].map((pathname) =>
    String(Object.assign(new URL(url), { pathname })),
  ) as [string, string]
  await provision(club, 'auth', KEY)
  const otherKey = '99'.repeat(32)
  const refused = { code: 'database.other_deployment', message: /the database club uses it.*own/ }
  await assert.rejects(provision(trial, 'auth', otherKey), refused)
  await assert.rejects(provision(trial, 'auth', otherKey, { newKey: 'accepted' }), refused)
  await assert.rejects(checkRole(trial, 'auth', otherKey), refused)
  assert.deepEqual(await run(roleUrl(club, 'auth', KEY), 'select 1'), [1])
  assert.deepEqual(await run(trial, `select from pg_namespace where nspname = 'auth'`), [])

  const another = { ...refused, message: /Set the INTERNAL_KEY/ }
  await assert.rejects(provision(club, 'auth', otherKey), another, 'a command with a strange key')
  await run(url, 'drop database club with (force)')
  await checkRole(trial, 'auth', otherKey)
  await provision(trial, 'auth', otherKey)
  assert.deepEqual(await run(roleUrl(trial, 'auth', otherKey), 'select 1'), [1], 'left over')
})
