import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pruneJobs } from '@guildhall/contracts/ops'
import { pruneBus, queueJob } from './jobs.ts'
import { testOutbox } from './testing.ts'

test('pruning keeps what waits, the day of sent rows and the month of finished runs', async (t) => {
  const db = await testOutbox(t)
  const queue = () => db.transaction().execute((trx) => queueJob(trx, pruneJobs.ops, {}))
  const hour = 3_600_000
  const ids = await Promise.all(Array.from({ length: 4 }, () => queue()))
  const [waiting = '', fresh = '', stale = '', old = ''] = ids
  const at = (hours: number) => new Date(Date.now() - hours * hour)
  for (const [id, hours] of [
    [fresh, 23],
    [stale, 25],
    [old, 31 * 24],
  ] as const) {
    await db
      .updateTable('outbox')
      .set({ sent_at: at(hours) })
      .where('id', '=', id)
      .execute()
    await db
      .updateTable('job_runs')
      .set({ state: 'done', finished_at: at(hours) })
      .where('id', '=', id)
      .execute()
  }
  await db
    .updateTable('outbox')
    .set({ created_at: at(9_999) })
    .where('id', '=', waiting)
    .execute()
  await pruneBus(db)
  const left = async (table: 'outbox' | 'job_runs') =>
    (await db.selectFrom(table).select('id').execute()).map(({ id }) => id).sort()
  assert.deepEqual(await left('outbox'), [waiting, fresh].sort())
  assert.deepEqual(await left('job_runs'), [waiting, fresh, stale].sort())
})
