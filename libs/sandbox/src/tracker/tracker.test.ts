import assert from 'node:assert/strict'
import { test } from 'node:test'
import { trackerSettings } from '@guildhall/service/config'
import { createLog } from '@guildhall/service/log'
import { until } from '@guildhall/service/testing'
import { inTrace, traceFrom, traceFromStranger } from '@guildhall/service/trace'
import { openTracker, traceStep } from '@guildhall/service/tracker'
import { z } from 'zod'
import { testSandbox } from '../testing.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const FROM = `00-${TRACE}-b7ad6b7169203331-01`
const settings = z.object(trackerSettings)

interface Sent {
  type: string
  // biome-ignore lint/suspicious/noExplicitAny: what the client sends is looked at, not used
  payload: any
}

test('without a DSN there is no tracker', async () => {
  assert.equal(await openTracker('auth', settings.parse({})), undefined)
})

test('the tracker gets lines from its level on, errors with place and trace, sampled steps and nothing else', async (t) => {
  const { world, trackerDsn } = await testSandbox(t)
  const config = settings.parse({
    ...{ TRACKER_DSN: trackerDsn, TRACKER_TRACES_SAMPLE_RATE: '1', GIT_COMMIT_HASH: 'abc123' },
    TRACKER_ENVIRONMENT: 'staging',
  })
  await using tracker = await openTracker('auth', config)
  const to = { write: () => {} }
  const log = createLog('auth', { format: 'json', to, tracker })
  log.info('too low')
  log.warn({ org: 7, token: 'hunter2', email: 'ada@example.org' }, 'a warning')
  const trace = traceFrom(FROM)
  inTrace(trace, () =>
    log.error({ err: new TypeError('it broke'), route: 'GET /x' }, 'A request failed'),
  )
  log.child({ job: 'auth.prune' }).error('a job failed')
  traceStep({ trace, name: 'GET /x', op: 'http.server', service: 'mcp', seconds: 0.5 })
  traceStep({
    trace: { ...trace, sampled: false },
    name: 'none',
    op: 'rpc',
    service: 'auth',
    seconds: 1,
  })
  await tracker?.[Symbol.asyncDispose]()

  const all = await until(() => {
    const items = (world.tracked ?? []) as Sent[]
    return ['event', 'log', 'span'].every((type) => items.some((one) => one.type === type)) && items
  })
  const of = (type: string) => all.filter((one) => one.type === type).map(({ payload }) => payload)
  const [first, second] = of('event')
  assert.deepEqual(
    [first.release, first.environment, first.tags.service],
    ['abc123', 'staging', 'api'],
  )
  assert.deepEqual(
    [first.exception.values[0].type, first.exception.values[0].value],
    ['TypeError', 'it broke'],
  )
  assert.match(JSON.stringify(first.exception.values[0].stacktrace.frames), /tracker\.test\.ts/)
  assert.equal(first.contexts.trace.trace_id, TRACE)
  assert.equal(second.tags.service, 'worker')
  const bodies = of('log').flatMap(({ items }) => items.map(({ body }: { body: string }) => body))
  assert.deepEqual(bodies, ['a warning', 'A request failed', 'a job failed'])
  const [step, ...others] = of('span').flatMap(({ items }) => items)
  assert.deepEqual(
    [step.name, step.trace_id, step.parent_span_id, step.attributes.service.value],
    ['GET /x', TRACE, 'b7ad6b7169203331', 'mcp'],
  )
  assert.deepEqual(others, [])
  assert.doesNotMatch(JSON.stringify(all), /hunter2|example\.org|too low/)
})

test("a stranger's header does not choose what is sampled", () => {
  const sampled = traceFromStranger(FROM.replace(/01$/, '00'))
  assert.deepEqual([sampled.trace_id, sampled.sampled], [TRACE, true]) // the rate of the test above is 1
  assert.equal(traceFrom(FROM.replace(/01$/, '00')).sampled, false)
})
