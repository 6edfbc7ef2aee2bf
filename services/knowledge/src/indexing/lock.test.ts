import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { openDb } from '@guildhall/db/open'
import { testDatabase } from '@guildhall/db/testing'
import { createLog } from '@guildhall/service/log'
import { cleanUp, until } from '@guildhall/service/testing'
import { sql } from 'kysely'
import { takeIndexLock } from './lock.ts'

test('a second writer of the index says why it waits, and gets its turn when the first ends', async (t) => {
  const url = await testDatabase(t)
  const lines: string[] = []
  const to = new PassThrough().on('data', (line) => lines.push(String(line)))
  const log = createLog('test', { format: 'json', to })
  const first = await takeIndexLock({ url, log })
  let taken = false
  const waiting = takeIndexLock({ url, log }, 0).then((lock) => {
    taken = true
    return lock
  })
  await until(() => lines.some((line) => line.includes('stop that process')))
  assert.equal(taken, false)
  await first[Symbol.asyncDispose]()
  await (await waiting)[Symbol.asyncDispose]()
})

test('a writer whose connection was cut takes the lock again, and ends if another has it', async (t) => {
  const url = await testDatabase(t)
  const log = createLog('test', { format: 'json', level: 'silent' })
  const admin = openDb<object>({ url, schema: 'public', log })
  cleanUp(t, () => admin.destroy())
  const cut = () =>
    sql`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'
      and database = (select oid from pg_database where datname = current_database())`.execute(
      admin,
    )
  const held = async () =>
    (
      await sql`select 1 from pg_locks where locktype = 'advisory' and granted
      and database = (select oid from pg_database where datname = current_database())`.execute(
        admin,
      )
    ).rows.length > 0
  const first = await takeIndexLock({ url, log })
  cleanUp(t, () => first[Symbol.asyncDispose]())
  const kept = first.keep(new AbortController().signal)
  await cut()
  await until(held)
  await cut()
  const other = await takeIndexLock({ url, log })
  cleanUp(t, () => other[Symbol.asyncDispose]())
  await assert.rejects(kept, /took over/)
})
