import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pruneJobs, readinessOf } from '@guildhall/contracts/ops'
import { createLog } from '@guildhall/service/log'
import { cleanUp, until } from '@guildhall/service/testing'
import { inTrace, traceFrom, traceparent } from '@guildhall/service/trace'
import { answer, ask } from './calls.ts'
import { handles, queueJob, runJobs } from './jobs.ts'
import { relay } from './relay.ts'
import { ensureStreams } from './streams.ts'
import { busAs, testBroker, testOutbox } from './testing.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const FROM = `00-${TRACE}-b7ad6b7169203331-01`

test('a call is a step of the trace that asks, and one outside of any begins its own', async (t) => {
  const { url } = await testBroker(t)
  const [auth, ops] = [await busAs(t, { url, peer: 'auth' }), await busAs(t, { url, peer: 'ops' })]
  const heard: (string | undefined)[] = []
  answer(auth, readinessOf('auth'), async () => {
    heard.push(traceparent())
    return { missing: [] }
  })
  await auth.nats.flush()
  const asks = () => ask(ops, readinessOf('auth'), {})
  await inTrace(traceFrom(FROM), asks)
  await asks()
  await asks()
  const [within, ...without] = heard.map((one) => String(one).split('-'))
  assert.equal(within?.[1], TRACE)
  assert.notEqual(within?.[2], 'b7ad6b7169203331')
  assert.equal(within?.[3], '01')
  const traces = without.map(([, trace]) => trace)
  assert.equal(new Set([TRACE, ...traces]).size, 3)
})

test('a job runs in the trace that queued it, as do the lines that it logs and the jobs it queues', async (t) => {
  const [{ url }, db] = await Promise.all([testBroker(t), testOutbox(t)])
  const lines: { msg: string; trace_id?: string }[] = []
  const to = { write: (line: string) => void lines.push(JSON.parse(line)) }
  const bus = await busAs(t, { url, peer: 'ops', log: createLog('ops', { format: 'json', to }) })
  await ensureStreams(bus.jsm)
  const queue = () => db.transaction().execute((trx) => queueJob(trx, pruneJobs.ops, {}))
  const ran: string[] = []
  const ending = new AbortController()
  const handler = handles(pruneJobs.ops, async (_args, { run_id, log }) => {
    log.info('it runs')
    ran.push(run_id)
    if (ran.length === 1) await queue()
  })
  const running = [runJobs(bus, db, [handler], ending.signal), relay(bus, db, ending.signal)]
  cleanUp(t, async () => {
    ending.abort()
    await Promise.all(running)
  })
  await inTrace(traceFrom(FROM), queue)
  await until(() => ran.length === 2)
  await queue()
  await until(() => ran.length === 3)
  const traces = lines.filter(({ msg }) => msg === 'it runs').map(({ trace_id }) => trace_id)
  assert.deepEqual(traces.slice(0, 2), [TRACE, TRACE])
  assert.match(String(traces[2]), /^[0-9a-f]{32}$/)
  assert.notEqual(traces[2], TRACE)
})
