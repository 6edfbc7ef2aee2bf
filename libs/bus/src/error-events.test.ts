import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ErrorEvent } from '@guildhall/contracts/event'
import { createLog } from '@guildhall/service/log'
import { cleanUp, until, whileStopped } from '@guildhall/service/testing'
import { consume } from './consume.ts'
import { createErrorEvents } from './error-events.ts'
import { ensureStreams } from './streams.ts'
import { busAs, testBroker } from './testing.ts'

/** The log of auth, whose errors become events, and the events that ops gets of it. */
async function setUp(t: TestContext) {
  const nats = await testBroker(t)
  const ending = new AbortController()
  const received: ErrorEvent[] = []
  const lines: { level: string; lost?: number }[] = []
  const errors = createErrorEvents()
  const to = { write: (line: string) => void lines.push(JSON.parse(line)) }
  const log = createLog('auth', { format: 'json', to, errors: errors.stream })
  const auth = await busAs(t, { url: nats.url, peer: 'auth', log })
  const ops = await busAs(t, { url: nats.url, peer: 'ops' })
  const listen = async () => {
    await ensureStreams(ops.jsm)
    const handle = async (message: { json(): unknown }) => {
      received.push(ErrorEvent.parse(message.json()))
    }
    const consumption = {
      stream: 'ERRORS',
      durable: 'ops-errors',
      subject: 'errors.*',
      concurrency: 1,
      handle,
    }
    const running = consume(ops, consumption, ending.signal)
    cleanUp(t, () => {
      ending.abort()
      return running
    })
  }
  cleanUp(t, async () => ending.abort())
  const attach = () => {
    const attached = errors.attach(auth)
    cleanUp(t, async () => attached[Symbol.asyncDispose]())
    return attached
  }
  return { nats, log, lines, received, attach, listen, ops }
}

test('a line at error is an event with what it says, and one below is none', async (t) => {
  const { log, received, attach, listen } = await setUp(t)
  await listen()
  attach()
  log.warn('not this')
  log
    .child({ reqId: 'r1' })
    .error({ err: new TypeError('it\0 broke'), org: 7, route: '/api/x' }, 'A request failed')
  log.fatal({ org: 'chess' }, 'without an error')
  await until(() => received.length === 2)

  const [first, second] = received
  assert.deepEqual(
    [first?.service, first?.kind, first?.message, first?.org_id, first?.route, first?.request_id],
    ['auth', 'TypeError', 'it broke', 7, '/api/x', 'r1'],
  )
  assert.match(String(first?.stack), /error-events\.test\.ts/)
  assert.deepEqual(
    [second?.kind, second?.message, second?.org_id],
    ['Error', 'without an error', null],
  )
})

test('what somebody hung on an error is stored as a text of whole characters, and cut', async (t) => {
  const { log, received, attach, listen } = await setUp(t)
  await listen()
  attach()
  const odd = Object.assign(new Error(`${'x'.repeat(1_999)}🦊`), { code: `${'K'.repeat(300)}\0` })
  log.error({ err: odd })
  log.error({ err: Object.assign(new Error(), { message: 42 }) })
  await until(() => received.length === 2)
  const [cut, number] = received
  assert.deepEqual([cut?.kind.length, cut?.message.length], [200, 2_000])
  assert.ok(cut?.message.isWellFormed())
  assert.equal(number?.message, '42')
})

test('of more than a thousand that wait the rest is dropped and counted', async (t) => {
  const { log, received, attach, listen } = await setUp(t)
  for (let i = 0; i < 1_234; i += 1) log.error(`fault ${i}`)
  await listen()
  attach()
  await until(() => received.length === 1_000)
  assert.equal(
    received.reduce((sum, { dropped_before }) => sum + dropped_before, 0),
    234,
  )
  assert.equal(new Set(received.map(({ message }) => message)).size, 1_000)
})

test('events that cannot be sent wait, make no others, and go when they can', async (t) => {
  const { log, lines, received, attach, listen } = await setUp(t)
  attach()
  log.error('while there is no stream')
  await until(() => lines.filter(({ level }) => level === 'WARN').length >= 2)
  assert.equal(lines.filter(({ level }) => level === 'ERROR').length, 1)
  await listen()
  await until(() => received.length === 1)
  assert.equal(received[0]?.message, 'while there is no stream')
})

test('all errors before the end are sent, and those that come meanwhile', async (t) => {
  const { log, lines, attach, ops } = await setUp(t)
  await ensureStreams(ops.jsm)
  const attached = attach()
  for (let i = 0; i < 300; i += 1) log.error(`fault ${i}`)
  const ended = attached[Symbol.asyncDispose]()
  log.fatal('the last words')
  await ended
  assert.equal((await ops.jsm.streams.info('ERRORS')).state.messages, 301)
  assert.ok(lines.every(({ level }) => level !== 'WARN'))
})

test('an end where nobody takes them comes within seconds, and says how many are lost', async (t) => {
  const { nats, log, lines, attach } = await setUp(t)
  const attached = attach()
  await whileStopped(Number(nats.pid()), async () => {
    log.error('a fault')
    const began = performance.now()
    await attached[Symbol.asyncDispose]()
    assert.ok(performance.now() - began < 5_000)
  })
  assert.equal(lines.find(({ lost }) => lost)?.lost, 1)
})

test('an event that nobody can read is dropped, and the next one comes', async (t) => {
  const { log, received, attach, listen, ops } = await setUp(t)
  await ensureStreams(ops.jsm)
  await ops.js.publish('errors.ops', '{"id":"no event"}')
  await ops.js.publish('errors.ops', 'no json')
  await listen()
  attach()
  log.error('readable')
  await until(() => received.length === 1)
  const pending = async () => (await ops.jsm.consumers.info('ERRORS', 'ops-errors')).num_ack_pending
  await until(async () => (await pending()) === 0)
})
