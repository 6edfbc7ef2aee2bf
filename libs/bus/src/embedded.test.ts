import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLog } from '@guildhall/service/log'
import { inspectProcess } from '@guildhall/service/supervised-server'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { findNatsServer, startNats } from './embedded.ts'
import type { NatsUser } from './users.ts'

const DEADLINE_MS = 15_000
const log = createLog('test', { format: 'json', level: 'silent' })

const all: NatsUser = {
  user: 'all',
  password: 'quo"te \\ $2a$ #',
  permissions: { publish: ['>'], subscribe: ['>'], allowResponses: false },
}
const answering: NatsUser = {
  user: 'answering',
  password: 'b',
  permissions: { publish: [], subscribe: ['rpc.answering.>'], allowResponses: true },
}
const asking: NatsUser = {
  user: 'asking',
  password: 'c',
  permissions: {
    publish: ['rpc.answering.ping'],
    subscribe: ['_INBOX_asking.>'],
    allowResponses: false,
  },
}
const nothing: NatsUser = {
  user: 'nothing',
  password: 'd',
  permissions: { publish: [], subscribe: [], allowResponses: false },
}
const config = { users: [all, answering, asking, nothing] }

let home: string
let bin: string
before(async () => {
  home = await mkdtemp(join(tmpdir(), 'nats-home-'))
  bin = await findNatsServer({ home, log, env: process.env })
})
after(() => rm(home, { recursive: true, force: true }))

async function folder(t: TestContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'nats-'))
  t.after(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  return dir
}

async function start(t: TestContext, dir: string) {
  const nats = await startNats({ bin, dir, config, log })
  t.after(() => nats.stop())
  return nats
}

async function as({ user, password }: NatsUser, url: string, t: TestContext) {
  const options = { servers: url, user, pass: password, inboxPrefix: `_INBOX_${user}` }
  const connection = await connect({ ...options, reconnectTimeWait: 50 })
  t.after(() => connection.close())
  return connection
}

async function until(what: string, condition: () => unknown): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS
  while (!(await condition())) {
    assert.ok(performance.now() < deadline, `in time: ${what}`)
    await sleep(20)
  }
}

async function store(connection: NatsConnection) {
  const manager = await jetstreamManager(connection)
  await manager.streams.add({ name: 'KEPT', subjects: ['kept'] })
  await jetstream(connection).publish('kept', 'seven')
}

async function messagesKept(connection: NatsConnection) {
  const manager = await jetstreamManager(connection)
  return (await manager.streams.info('KEPT')).state.messages
}

/** Resolves with the violation that the server reports for what `act` does. */
async function violation(connection: NatsConnection, act: () => void) {
  const statuses = connection.status()[Symbol.asyncIterator]()
  act()
  for (;;) {
    const { value } = await statuses.next()
    if (value?.type === 'error') return String(value.error.message)
  }
}

/** Another process that starts nats-server in `dir`; resolves with its pid and port. */
async function parentProcess(dir: string) {
  const script = `
    import { startNats } from ${JSON.stringify(join(import.meta.dirname, 'embedded.ts'))}
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    const { bin, dir, config } = ${JSON.stringify({ bin, dir, config })}
    const nats = await startNats({ bin, dir, config, log })
    process.stdout.write(JSON.stringify({ pid: nats.pid(), port: nats.port, url: nats.url }))`
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [answer] = await once(parent.stdout, 'data')
  return { parent, answer: JSON.parse(`${answer}`) }
}

test('a first start and a second one keep the messages and the port', async (t) => {
  const dir = await folder(t)
  const cold = performance.now()
  const first = await start(t, dir)
  t.diagnostic(`cold start ${Math.round(performance.now() - cold)} ms`)
  await store(await as(all, first.url, t))
  await first.stop()

  const warm = performance.now()
  const second = await start(t, dir)
  t.diagnostic(`warm start ${Math.round(performance.now() - warm)} ms`)
  assert.equal(second.port, first.port)
  assert.equal(await messagesKept(await as(all, second.url, t)), 1)
})

test('a killed nats-server comes back on the same port and its clients return', async (t) => {
  const nats = await start(t, await folder(t))
  const connection = await as(all, nats.url, t)
  await store(connection)
  const killed = Number(nats.pid())
  process.kill(killed, 'SIGKILL')
  await until('it is another one', () => nats.pid() !== killed && nats.pid())
  await until('messages are there', () => messagesKept(connection).catch(() => 0))
})

test('stopping leaves no process and only the store, the settings and the port', async (t) => {
  const dir = await folder(t)
  const nats = await start(t, dir)
  const pid = Number(nats.pid())
  await nats.stop()
  assert.equal(await inspectProcess(pid), undefined)
  assert.deepEqual((await readdir(dir)).sort(), ['jetstream', 'nats.conf', 'port'])
})

test('a new start works after the parent was killed, and the old nats-server is gone', async (t) => {
  const dir = await folder(t)
  const { parent, answer } = await parentProcess(dir)
  const connection = await as(all, answer.url, t)
  await store(connection)
  await connection.close()
  parent.kill('SIGKILL')
  await once(parent, 'exit')
  const nats = await start(t, dir)
  assert.equal((await inspectProcess(answer.pid))?.command || undefined, undefined)
  assert.equal(nats.port, answer.port)
  assert.equal(await messagesKept(await as(all, nats.url, t)), 1)
})

test('the settings file with the passwords is for its owner alone', async (t) => {
  const dir = await folder(t)
  await writeFile(join(dir, 'nats.conf'), '', { mode: 0o644 })
  await start(t, dir)
  assert.equal((await stat(join(dir, 'nats.conf'))).mode & 0o777, 0o600)
})

test('a wrong password and no password are refused', async (t) => {
  const { url } = await start(t, await folder(t))
  const wrong = { servers: url, reconnect: false }
  await assert.rejects(connect({ ...wrong, user: 'all', pass: 'x' }), /Authorization/)
  await assert.rejects(connect(wrong), /Authorization/)
})

test('a user may publish and subscribe only what is listed', async (t) => {
  const { url } = await start(t, await folder(t))
  const user = await as(asking, url, t)
  const publishing = await violation(user, () => user.publish('rpc.answering.other'))
  assert.match(publishing, /Permissions Violation for Publish to "rpc\.answering\.other"/i)
  const listening = await violation(user, () => void user.subscribe('_INBOX_all.>'))
  assert.match(listening, /Permissions Violation for Subscription to "_INBOX_all\.>"/i)
  const storing = await violation(user, () => user.publish('$JS.API.STREAM.LIST'))
  assert.match(storing, /Permissions Violation for Publish/i)
})

test('empty lists allow nothing', async (t) => {
  const { url } = await start(t, await folder(t))
  const user = await as(nothing, url, t)
  assert.match(await violation(user, () => user.publish('a')), /Publish to "a"/i)
  assert.match(await violation(user, () => void user.subscribe('a')), /Subscription to "a"/i)
})

test('one that may only answer answers a request and publishes nothing else', async (t) => {
  const { url } = await start(t, await folder(t))
  const server = await as(answering, url, t)
  server.subscribe('rpc.answering.*', {
    callback: (_error, message) => void message.respond('pong'),
  })
  await server.flush()
  const client = await as(asking, url, t)
  assert.equal((await client.request('rpc.answering.ping')).string(), 'pong')
  assert.match(await violation(server, () => server.publish('free')), /Publish to "free"/i)
})

test('a message of one MiB with headers passes', async (t) => {
  const { url } = await start(t, await folder(t))
  const connection = await as(all, url, t)
  assert.equal(connection.info?.max_payload, 1_114_112)
})

test('without nats-server and apt the message says what to do', async (t) => {
  const missing = findNatsServer({ home: await folder(t), log, env: { PATH: '' } })
  await assert.rejects(missing, (error: Error & { code?: string }) => {
    assert.equal(error.code, 'nats.missing')
    assert.match(error.message, /brew install nats-server/)
    assert.match(error.message, /docker run -d -p 4222:4222 nats:2 -js/)
    return true
  })
})

test('NATS_SERVER_BIN comes first, then PATH, then the copy under home', async (t) => {
  const dir = await folder(t)
  const program = async (...path: string[]) => {
    await mkdir(join(dir, ...path.slice(0, -1)), { recursive: true })
    await writeFile(join(dir, ...path), '#!/bin/sh\n')
    await chmod(join(dir, ...path), 0o755)
    return join(dir, ...path)
  }
  const [chosen, onPath] = [await program('mine'), await program('bin', 'nats-server')]
  const copy = await program('nats-server', 'usr', 'sbin', 'nats-server')
  const PATH = join(dir, 'bin')
  const find = (env: Record<string, string>) => findNatsServer({ home: dir, log, env })
  assert.equal(await find({ PATH, NATS_SERVER_BIN: chosen }), chosen)
  assert.equal(await find({ PATH }), onPath)
  assert.equal(await find({ PATH: '' }), copy)
  await assert.rejects(find({ PATH, NATS_SERVER_BIN: '/none' }), { code: 'nats.bad_bin' })
})

test('an archive that cannot be reached says so and leaves no half-made folder', async (t) => {
  const dir = await folder(t)
  await mkdir(join(dir, 'bin'))
  for (const name of ['apt-get', 'dpkg-deb']) {
    await writeFile(join(dir, 'bin', name), '#!/bin/sh\necho no network >&2; exit 100\n', {
      mode: 0o755,
    })
  }
  const missing = findNatsServer({ home: dir, log, env: { PATH: `${dir}/bin` } })
  await assert.rejects(missing, { code: 'nats.missing', message: /no network/ })
  assert.deepEqual(await readdir(dir), ['bin'])
})
