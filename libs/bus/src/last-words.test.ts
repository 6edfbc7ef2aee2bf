import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { ErrorEvent } from '@guildhall/contracts/event'
import { cleanUp, until } from '@guildhall/service/testing'
import { consume } from './consume.ts'
import { ensureStreams } from './streams.ts'
import { busAs, TEST_INTERNAL_KEY, testBroker } from './testing.ts'

/** A process of auth that only opens its log and bus, then does `then`. */
const programOf = (then: string) => `
  import { createLog } from '@guildhall/service/log'
  import { runProcess } from '@guildhall/service/run'
  import { connectBus } from '@guildhall/bus/connect'
  import { createErrorEvents } from '@guildhall/bus/error-events'
  import { sendLastWords } from '@guildhall/bus/last-words'
  const errors = createErrorEvents()
  const log = createLog('auth', { format: 'json', errors: errors.stream })
  const connection = { peer: 'auth', url: process.env.NATS_URL, internalKey: '${TEST_INTERNAL_KEY}', log }
  await runProcess('auth', async () => {
    sendLastWords({ ...connection, errors, tracker: undefined })
    ${then}
    return { url: '', async [Symbol.asyncDispose]() {} }
  })`
const SERVES = `const bus = await connectBus(connection)
  errors.attach(bus)`

/** How a process ends, and how long it takes. */
async function ran(t: TestContext, program: string, env: Record<string, string>) {
  const began = performance.now()
  const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', program], {
    cwd: import.meta.dirname,
    env: { PATH: process.env.PATH, ...env },
  })
  cleanUp(t, async () => child.kill('SIGKILL'))
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit', { signal: AbortSignal.timeout(20_000) }),
  ])
  return { code, out: out + err, ms: performance.now() - began }
}

/** A broker, and what ops gets of errors until so many are there. */
async function setUp(t: TestContext) {
  const { url } = await testBroker(t)
  const ops = await busAs(t, { url, peer: 'ops' })
  await ensureStreams(ops.jsm)
  const received: ErrorEvent[] = []
  const ending = new AbortController()
  const consumption = {
    ...({ stream: 'ERRORS', durable: 'ops-errors', subject: 'errors.*', concurrency: 1 } as const),
    handle: async (message: { json(): unknown }) => {
      received.push(ErrorEvent.parse(message.json()))
    },
  }
  const running = consume(ops, consumption, ending.signal)
  cleanUp(t, () => {
    ending.abort()
    return running
  })
  const sent = async (count: number) => {
    await until(() => received.length >= count)
    return received
  }
  return { url, sent }
}

test('an error that nobody caught ends the process with 1 and is an event, after those that waited', async (t) => {
  const { url, sent } = await setUp(t)
  const program = programOf(`${SERVES}
    setTimeout(() => {
      log.error('a line before')
      Promise.reject(new RangeError('nobody caught this'))
      setTimeout(() => { throw new TypeError('nor this') }, 1)
    })`)
  const { code, out } = await ran(t, program, { NATS_URL: url })
  assert.equal(code, 1, out)
  const [first, second] = await sent(2)
  assert.equal(first?.message, 'a line before')
  assert.deepEqual(
    [second?.service, second?.kind, second?.message],
    ['auth', 'RangeError', 'nobody caught this'],
  )
})

test('a fault at start is an event, though the process never had a connection', async (t) => {
  const { url, sent } = await setUp(t)
  const { code, out } = await ran(t, programOf(`throw new Error('no start')`), { NATS_URL: url })
  assert.equal(code, 1, out)
  assert.deepEqual(
    (await sent(1)).map(({ service, message }) => [service, message]),
    [['auth', 'no start']],
  )
})

test('a service that cannot reach its database says so', async (t) => {
  const { url, sent } = await setUp(t)
  const config = {
    ...{ INTERNAL_KEY: TEST_INTERNAL_KEY, NATS_URL: url, TRACKER_PROFILES_SAMPLE_RATE: '0.5' },
    DATABASE_URL: 'postgres://owner@127.0.0.1:1/none',
  }
  const program = `
    import { openService } from '@guildhall/bus/open-service'
    import { commonSettings, readSettings } from '@guildhall/service/config'
    import { runProcess } from '@guildhall/service/run'
    import { z } from 'zod'
    const config = readSettings(z.object(commonSettings), process.env)
    await runProcess('store', () => openService('store', { ...config, HOST: '127.0.0.1', PORT: 0 }, '/none'))`
  const { code, out } = await ran(t, program, config)
  assert.equal(code, 1, out)
  assert.match(out, /"WARN".*TRACKER_PROFILES_SAMPLE_RATE changes nothing/)
  const [event, ...others] = await sent(1)
  assert.deepEqual([event?.service, others], ['store', []])
  assert.match(event?.message ?? '', /ECONNREFUSED/)
})

test('a process ends with 1 within seconds where nobody takes its last words', async (t) => {
  const nowhere = { NATS_URL: 'nats://127.0.0.1:1' }
  const { code, out, ms } = await ran(t, programOf(`throw new Error('no start')`), nowhere)
  assert.equal(code, 1, out)
  assert.match(out, /"FATAL".*no start/)
  assert.ok(ms < 10_000, `${ms} ms`)
})

test('nor does it wait longer for who never ends', async (t) => {
  const program = `
    import { onLastWords, runProcess } from '@guildhall/service/run'
    onLastWords('auth', () => new Promise(() => {}))
    setInterval(() => {}, 1_000)
    await runProcess('auth', async () => { throw new Error('no start') })`
  const { code, out, ms } = await ran(t, program, {})
  assert.equal(code, 1, out)
  assert.ok(ms < 10_000, `${ms} ms`)
})
