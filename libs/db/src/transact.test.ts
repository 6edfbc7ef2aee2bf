import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '@guildhall/service/log'
import { cleanUp } from '@guildhall/service/testing'
import { sql } from 'kysely'
import { openDb } from './open.ts'
import { testDatabase } from './testing.ts'
import { transact } from './transact.ts'

interface Tables {
  seats: { id: number; taken: number }
}

test('of two transactions that wait for each other both come through, once each', async (t) => {
  const url = await testDatabase(t)
  const log = createLog('test', { format: 'json', level: 'warn', to: { write: () => {} } })
  const db = openDb<Tables>({ url, schema: 'public', log })
  cleanUp(t, () => db.destroy())
  await sql`create table seats (id integer primary key, taken integer not null)`.execute(db)
  await sql`insert into seats values (1, 0), (2, 0)`.execute(db)
  const both = Promise.withResolvers<void>()
  let waiting = 0
  let runs = 0
  const take = (first: number, second: number) =>
    transact<Tables, void>(db, async (trx) => {
      runs += 1
      const seat = (id: number) =>
        sql`update seats set taken = taken + 1 where id = ${id}`.execute(trx)
      await seat(first)
      waiting += 1
      if (waiting === 2) both.resolve()
      await both.promise
      await seat(second)
    })
  await Promise.all([take(1, 2), take(2, 1)])
  const { rows } = await sql`select taken from seats`.execute(db)
  assert.deepEqual(rows, [{ taken: 2 }, { taken: 2 }])
  assert.equal(runs, 3)
})

test('what fails for another reason is tried once, and says so', async (t) => {
  const url = await testDatabase(t)
  const log = createLog('test', { format: 'json', level: 'warn', to: { write: () => {} } })
  const db = openDb<Tables>({ url, schema: 'public', log })
  cleanUp(t, () => db.destroy())
  let runs = 0
  const failing = transact<Tables, void>(db, async (trx) => {
    runs += 1
    await sql`select * from nowhere`.execute(trx)
  })
  await assert.rejects(failing, { code: '42P01' })
  assert.equal(runs, 1)
})
