import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Job } from '@guildhall/contracts/job'
import { pruneJobs } from '@guildhall/contracts/ops'
import { AppError } from '@guildhall/service/errors'
import { cleanUp, until } from '@guildhall/service/testing'
import { z } from 'zod'
import { type FailedRun, handles, queueJob, runJobs } from './jobs.ts'
import { relay } from './relay.ts'
import { ensureStreams } from './streams.ts'
import { busAs, quietLog, testBroker, testOutbox } from './testing.ts'

const job = { ...pruneJobs.ops, args: z.object({ n: z.int() }) } satisfies Job

test('a run ends whatever bytes its error or its result has', async (t) => {
  const [{ url }, db] = await Promise.all([testBroker(t), testOutbox(t)])
  const bus = await busAs(t, { url, peer: 'ops', log: quietLog })
  await ensureStreams(bus.jsm)
  const heard: string[] = []
  const run = async ({ n }: { n: number }) => {
    if (n === 0) throw new AppError('invalid', 'test.odd', `no \0 here ${'x'.repeat(5_000)}`)
    if (n === 2) throw new DOMException('no \0 there', 'DataError') // whose message nobody may set
    return { was: ['text with \0 in it'] }
  }
  const failed = async (_trx: unknown, { error }: FailedRun) => heard.push(error.message)
  const ending = new AbortController()
  const handler = handles({ ...job, attempts: 1 }, run, failed, async () => {})
  const running = [runJobs(bus, db, [handler], ending.signal), relay(bus, db, ending.signal)]
  cleanUp(t, async () => {
    ending.abort()
    await Promise.all(running)
  })
  const ended = async (n: number) => {
    const id = await db.transaction().execute((trx) => queueJob(trx, job, { n }))
    return until(async () => {
      const rows = await db.selectFrom('job_runs').selectAll().where('id', '=', id).execute()
      return rows.find(({ finished_at }) => finished_at)
    })
  }
  const [bad, good] = [await ended(0), await ended(1)]
  assert.deepEqual([bad.state, bad.error?.slice(0, 12)], ['failed', 'no  here xxx'])
  assert.deepEqual([bad.error?.length, heard], [2_000, [bad.error]])
  assert.deepEqual([good.state, good.result], ['done', { was: ['text with  in it'] }])
  const fixed = await ended(2)
  assert.deepEqual([fixed.state, fixed.error], ['failed', 'no  there'])
  await until(async () => (await bus.jsm.streams.info('DEAD')).state.messages === 2)
})
