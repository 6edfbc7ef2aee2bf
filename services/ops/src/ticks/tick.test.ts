import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quietLog } from '@guildhall/bus/testing'
import { until } from '@guildhall/service/testing'
import { testOps } from '../testing.ts'
import { startDue } from './tick.ts'

test('of ten replicas that see the same tick one starts the run', async (t) => {
  const { db } = await testOps(t)
  const at = new Date('2031-01-01T03:17:00Z')
  const started = await Promise.all(
    Array.from({ length: 10 }, () => startDue({ db, log: quietLog }, at)),
  )

  assert.deepEqual(
    started.flat().filter((name) => name === 'ops.prune'),
    ['ops.prune'],
  )
  const runs = await until(async () => {
    const rows = await db
      .selectFrom('job_runs')
      .selectAll()
      .where('job', '=', 'ops.prune')
      .where('state', '=', 'done')
      .execute()
    return rows.length >= 1 ? rows : undefined
  })
  assert.ok(runs.every(({ attempts }) => attempts === 1))
})
