import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pruneJobs } from '@guildhall/contracts/ops'
import { orgCreated } from '@guildhall/contracts/orgs'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import { cleanUp, until } from '@guildhall/service/testing'
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { z } from 'zod'
import type { Bus } from './connect.ts'
import { startNats } from './embedded.ts'
import { unsendLost } from './lost-rows.ts'
import { audit, deadLetter, enqueue, queued } from './outbox.ts'
import { relay } from './relay.ts'
import { ensureStreams } from './streams.ts'
import {
  busAs,
  findTestNats,
  quietLog,
  TEST_INTERNAL_KEY,
  testBroker,
  testOutbox,
} from './testing.ts'
import { natsUsers } from './users.ts'

const system = { source: 'cli', actor_kind: 'operator', actor_id: null } as const
const opsEvent = { ...orgCreated, action: 'ops.org.created' } as const
const line = (n: number | string) => audit(opsEvent, system, { id: 1 }, { prefix: `p${n}` })
const count = (length: number) => Array.from({ length }, (_, i) => i)

/** A broker with streams, a schema, and relays that run until the test ends. */
async function setUp(t: TestContext, relays = 1) {
  const [nats, db] = await Promise.all([testBroker(t, [admin]), testOutbox(t)])
  const bus = await busAs(t, { url: nats.url, peer: 'ops' })
  await ensureStreams(bus.jsm)
  const ending = new AbortController()
  const running = count(relays).map(() => relay(bus, db, ending.signal))
  cleanUp(t, async () => {
    ending.abort()
    await Promise.all(running)
  })
  const write = (...lines: ReturnType<typeof line>[]) =>
    db.transaction().execute((trx) => enqueue(trx, ...lines))
  const unsent = async () =>
    (await db.selectFrom('outbox').select('id').where('sent_at', 'is', null).execute()).length
  const stored = async (stream = 'AUDIT') => (await bus.jsm.streams.info(stream)).state.messages
  return { nats, bus, db, write, unsent, stored }
}

test('a row is sent once, under its id', async (t) => {
  const { nats, db, write, unsent, stored } = await setUp(t)
  const sent = line(1)
  await write(sent)
  await until(async () => (await unsent()) === 0)

  assert.equal(await stored(), 1)
  const row = await db.selectFrom('outbox').selectAll().executeTakeFirstOrThrow()
  assert.deepEqual(
    [row.id, row.stream, row.subject, row.stream_seq],
    [sent.id, 'AUDIT', 'audit.ops', 1],
  )
  const again = await (await busAs(t, { url: nats.url, peer: 'ops' })).js.publish(
    'audit.ops',
    '{}',
    {
      msgID: sent.id,
    },
  )
  assert.equal(again.duplicate, true)
})

test('a transaction that is rolled back sends nothing', async (t) => {
  const { db, write, unsent, stored } = await setUp(t)
  const undone = db.transaction().execute(async (trx) => {
    await enqueue(trx, line('undone'))
    throw new Error('changed my mind')
  })
  await assert.rejects(undone, /changed my mind/)
  await write(line('kept'))
  await until(async () => (await stored()) > 0 && (await unsent()) === 0)
  assert.equal(await stored(), 1)
})

test('the same id written twice is one row', async (t) => {
  const { write, unsent, stored } = await setUp(t)
  const twice = line(1)
  await write(twice)
  await write(twice, line(2))
  await until(async () => (await unsent()) === 0)
  assert.equal(await stored(), 2)
})

test('of ten relays each row is sent by one', async (t) => {
  const { bus, write, unsent, stored } = await setUp(t, 10)
  const published: string[] = []
  const { publish } = bus.js
  bus.js.publish = (subject, payload, options) => {
    published.push(String(options?.msgID))
    return publish.call(bus.js, subject, payload, options)
  }
  for (const n of count(20)) await write(...count(50).map((i) => line(n * 50 + i)))
  await until(async () => (await unsent()) === 0)
  assert.equal(await stored(), 1_000)
  assert.equal(new Set(published).size, published.length)
})

test('a row that is refused waits and holds up no other', async (t) => {
  const { write, unsent, stored } = await setUp(t)
  await write({ ...line('refused'), subject: 'nowhere.ops' }, ...count(5).map(line))
  await until(async () => (await unsent()) === 1)
  assert.equal(await stored(), 5)
})

test('a stream with a refused row, and one that does not answer, hold up no other', async (t) => {
  const { bus, db, write, stored } = await setUp(t)
  const answered = Promise.withResolvers<void>()
  cleanUp(t, async () => answered.resolve())
  const { publish } = bus.js
  bus.js.publish = async (subject, ...rest) => {
    if (subject.startsWith('dead.')) await answered.promise
    return publish.call(bus.js, subject, ...rest)
  }
  const held = deadLetter(pruneJobs.ops, { id: newId(), args: {} }, 'it failed')
  await write({ ...line('refused'), subject: 'nowhere.ops' }, held)
  await until(async () => (await stored('JOBS')) === 0)
  const began = performance.now()
  for (const n of count(10)) {
    await db.transaction().execute((trx) => enqueue(trx, queued(pruneJobs.ops, {})))
    bus.outbox.emit('written')
    await until(async () => (await stored('JOBS')) === n + 1)
  }
  const ms = performance.now() - began
  assert.ok(ms < 3_000, `${ms} ms`)
})

test('a stream that is missing holds up no other, and is sent to as soon as it is there', async (t) => {
  const { nats, bus, db, write, unsent, stored } = await setUp(t, 0)
  await write(line(1))
  await db.updateTable('outbox').set({ sent_at: new Date(), stream_seq: 1 }).execute()
  await asAdmin(nats.url, (manager) => manager.streams.delete('AUDIT'))
  const ending = new AbortController() // the relay begins with looking at each stream that it has sent to
  const running = relay(bus, db, ending.signal)
  cleanUp(t, async () => {
    ending.abort()
    await running
  })
  await write(line(2))
  for (const n of count(3)) {
    await db.transaction().execute((trx) => enqueue(trx, queued(pruneJobs.ops, {})))
    await until(async () => (await stored('JOBS')) === n + 1)
  }
  await until(async () => (await unsent()) === 1)
  await ensureStreams(bus.jsm)
  await until(async () => (await stored()) === 2)
})

test('after a fault a sender tries again when there is more, yet never without end', async (t) => {
  const { bus, write, unsent } = await setUp(t)
  let tries = 0
  const { publish } = bus.js
  bus.js.publish = async (...args) => {
    tries += 1
    return publish.apply(bus.js, args)
  }
  await write({ ...line('refused'), subject: 'nowhere.ops' })
  await until(() => tries > 0)
  const writing = setInterval(() => bus.outbox.emit('written'), 1)
  cleanUp(t, async () => clearInterval(writing))
  const began = performance.now()
  const before = tries
  await until(() => tries >= before + 5)
  const ms = performance.now() - began
  assert.ok(ms > 350 && ms < 3_000, `five tries in ${ms} ms`)
  assert.equal(await unsent(), 1)
})

test('while NATS is killed again and again nothing is lost and nothing stored twice', async (t) => {
  const { nats, write, unsent, stored } = await setUp(t, 3)
  let n = 0
  for (const _ of count(3)) {
    const killed = nats.pid()
    await write(...count(20).map(() => line(n++)))
    if (killed) process.kill(killed, 'SIGKILL')
    while (nats.pid() === killed || !nats.pid()) await write(line(n++))
    await write(...count(20).map(() => line(n++)))
  }
  await until(async () => (await unsent()) === 0, 30_000)
  assert.equal(await stored(), n)
})

const admin = {
  user: 'admin',
  password: 'x',
  permissions: { publish: ['>'], subscribe: ['>'], allowResponses: false },
}

/** Does what no peer may to the streams of a server that knows the administrator. */
async function asAdmin(url: string, work: (manager: JetStreamManager) => Promise<unknown>) {
  const connection = await connect({ servers: new URL(url).host, user: 'admin', pass: 'x' })
  await work(await jetstreamManager(connection))
  await connection.close()
}

test('rows are sent again when their stream was lost and made anew', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'guildhall-test-nats-'))
  cleanUp(t, () => rm(dir, { recursive: true, force: true }))
  const start = async () => {
    const config = { users: [...natsUsers(TEST_INTERNAL_KEY), admin] }
    const nats = await startNats({ bin: await findTestNats(), dir, config, log: quietLog })
    cleanUp(t, () => nats.stop())
    const bus = await busAs(t, { url: nats.url, peer: 'ops' })
    await ensureStreams(bus.jsm)
    return { nats, bus }
  }
  const db = await testOutbox(t)
  const write = (...outgoing: Parameters<typeof enqueue>[1][]) =>
    db.transaction().execute((trx) => enqueue(trx, ...outgoing))
  const sendAll = async (bus: Bus) => {
    const ending = new AbortController()
    const running = relay(bus, db, ending.signal)
    await until(async () => (await unsent()) === 0)
    ending.abort()
    await running
  }
  const unsent = async () =>
    (await db.selectFrom('outbox').select('id').where('sent_at', 'is', null).execute()).length

  const look = (bus: Bus) =>
    Promise.all(['AUDIT', 'JOBS'].map((stream) => unsendLost(bus, db, stream)))

  const first = await start()
  await write(line(1), line(2), queued(pruneJobs.ops, {}))
  await sendAll(first.bus)
  await db
    .updateTable('outbox')
    .set({ sent_at: new Date(Date.now() - 3_600_000) })
    .execute()
  await look(first.bus)
  assert.equal(await unsent(), 3, 'sent before the stream was made')
  await sendAll(first.bus)
  await look(first.bus)
  assert.equal(await unsent(), 0, 'nothing was lost yet')
  await first.bus[Symbol.asyncDispose]()
  await asAdmin(first.nats.url, (manager) => manager.streams.delete('AUDIT'))
  await first.nats.stop()
  const second = await start()
  await look(second.bus)
  assert.equal(await unsent(), 2)
  await sendAll(second.bus)
  assert.equal((await second.bus.jsm.streams.info('AUDIT')).state.messages, 2)
})

test('a row that a restarted server lost is sent again by the relay that goes on', async (t) => {
  const { nats, write, unsent, stored } = await setUp(t)
  await write(line(1), line(2), line(3))
  await until(async () => (await stored()) === 3 && (await unsent()) === 0)
  await asAdmin(nats.url, (manager) => manager.streams.deleteMessage('AUDIT', 2))
  assert.equal(await stored(), 2)
  process.kill(nats.pid() ?? assert.fail(), 'SIGKILL')
  await until(async () => (await stored()) === 3, 20_000)
})

test('an audit line keeps what its contract names and no other word', () => {
  const said = { prefix: 'chess', password: 'hunter2' }
  const { subject, payload } = audit(opsEvent, system, undefined, said)
  assert.equal(subject, 'audit.ops')
  assert.doesNotMatch(JSON.stringify(payload), /hunter2/)
})

test('arguments of a job are checked, and refused above 64 kB', () => {
  const job = { ...pruneJobs.ops, args: z.object({ text: z.string() }) }
  assert.deepEqual(queued(job, { text: 'a' }, '0-1').payload, { id: '0-1', args: { text: 'a' } })
  assert.throws(() => queued(job, {} as never), z.ZodError)
  assert.throws(
    () => queued(job, { text: 'ü'.repeat(33_000) }),
    (error) => error instanceof AppError && error.code === 'job.too_large',
  )
})
