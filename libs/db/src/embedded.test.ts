import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLog } from '@guildhall/service/log'
import { inspectProcess } from '@guildhall/service/supervised-server'
import pg from 'pg'
import { startPostgres } from './embedded.ts'

const DEADLINE_MS = 15_000
const log = createLog('test', { format: 'json', level: 'silent' })
const settings = { fsync: 'off' }

async function folder(t: TestContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'pg-'))
  t.after(() => rm(dir, { recursive: true, force: true, maxRetries: 10 }))
  return dir
}

async function start(t: TestContext, dir: string, more: { port?: number; password?: string } = {}) {
  const postgres = await startPostgres({ dir, password: 'p@ss/word', log, settings, ...more })
  t.after(() => postgres.stop())
  return postgres
}

async function query(url: string, text: string) {
  const client = new pg.Client(url)
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

async function until(what: string, condition: () => unknown): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS
  while (!(await condition())) {
    assert.ok(performance.now() < deadline, `in time: ${what}`)
    await sleep(20)
  }
}

const answers = (url: string) =>
  query(url, 'select 1').then(
    () => true,
    () => false,
  )

/** Another process that starts Postgres in `dir`; resolves once it says how that went. */
async function parentProcess(dir: string) {
  const script = `
    import { startPostgres } from ${JSON.stringify(join(import.meta.dirname, 'embedded.ts'))}
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    const options = { dir: ${JSON.stringify(dir)}, password: 'p@ss/word', log, settings: { fsync: 'off' } }
    const answer = await startPostgres(options).then((p) => ({ pid: p.pid(), port: p.port, url: p.url }), (e) => ({ code: e.code }))
    process.stdout.write(JSON.stringify(answer))`
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [answer] = await once(parent.stdout, 'data')
  return { parent, answer: JSON.parse(`${answer}`) }
}

test('a first start makes the data, a second one keeps them and the port', async (t) => {
  const dir = await folder(t)
  const cold = performance.now()
  const first = await start(t, dir)
  t.diagnostic(`cold start ${Math.round(performance.now() - cold)} ms`)
  await query(first.url, 'create table kept as select 7 as n')
  await first.stop()

  const warm = performance.now()
  const second = await start(t, dir)
  t.diagnostic(`warm start ${Math.round(performance.now() - warm)} ms`)
  assert.equal(second.port, first.port)
  assert.deepEqual(await query(second.url, 'select n from kept'), [{ n: 7 }])
})

test('it listens on loopback alone, asks for the password and holds 200 connections', async (t) => {
  const { url } = await start(t, await folder(t))
  const show = async (name: string) => (await query(url, `show ${name}`))[0][name]
  assert.equal(await show('listen_addresses'), '127.0.0.1')
  assert.equal(await show('unix_socket_directories'), '')
  assert.equal(await show('max_connections'), '200')
  assert.equal(await show('password_encryption'), 'scram-sha-256')
  assert.equal(await show('fsync'), 'off')
  const wrong = new URL(url)
  wrong.password = 'wrong'
  await assert.rejects(query(wrong.href, 'select 1'), { code: '28P01' })
})

test('a killed Postgres comes back on the same port with what was committed', async (t) => {
  const postgres = await start(t, await folder(t))
  await query(postgres.url, 'create table kept as select 7 as n')
  const killed = Number(postgres.pid())
  process.kill(killed, 'SIGKILL')
  await until('it died', () => postgres.pid() !== killed)
  await until('it answers again', () => answers(postgres.url))
  assert.deepEqual(await query(postgres.url, 'select n from kept'), [{ n: 7 }])
})

test('stopping leaves no process and no files but the data and the port', async (t) => {
  const dir = await folder(t)
  const postgres = await start(t, dir)
  const pid = Number(postgres.pid())
  await postgres.stop()
  assert.equal(await inspectProcess(pid), undefined)
  assert.deepEqual((await readdir(dir)).sort(), ['data', 'port'])
  assert.ok(!existsSync(join(dir, 'data', 'postmaster.pid')))
})

test('a new start works after the parent was killed, and the old Postgres is gone', async (t) => {
  const dir = await folder(t)
  const { parent, answer } = await parentProcess(dir)
  await query(answer.url, 'create table kept as select 7 as n')
  parent.kill('SIGKILL')
  await once(parent, 'exit')
  const postgres = await start(t, dir)
  assert.notEqual(postgres.pid(), answer.pid)
  assert.equal((await inspectProcess(answer.pid))?.command || undefined, undefined)
  assert.equal(postgres.port, answer.port)
  assert.deepEqual(await query(postgres.url, 'select n from kept'), [{ n: 7 }])
})

test('a Postgres of a dead parent that is still running is ended by the next start', async (t) => {
  const dir = await folder(t)
  const { parent, answer } = await parentProcess(dir)
  process.kill(answer.pid, 'SIGSTOP') // it cannot follow the signal of its parent's death
  parent.kill('SIGKILL')
  await once(parent, 'exit')
  const starting = start(t, dir)
  await until('the next start asks it to end', async () => {
    const status = await readFile(`/proc/${answer.pid}/status`, 'utf8').catch(() => '')
    return /^ShdPnd:\s*0*[1-9a-f]/m.test(status)
  })
  process.kill(answer.pid, 'SIGCONT')
  assert.notEqual((await starting).pid(), answer.pid)
})

test('a folder that a living process uses is refused, and that process is left alone', async (t) => {
  const dir = await folder(t)
  const postgres = await start(t, dir)
  const { parent, answer } = await parentProcess(dir)
  t.after(() => parent.kill('SIGKILL'))
  assert.equal(answer.code, 'postgres.in_use')
  assert.ok(await answers(postgres.url))
})

test('a pid file whose number belongs to something else does not stand in the way', async (t) => {
  const dir = await folder(t)
  const first = await start(t, dir)
  const pidFile = join(dir, 'data', 'postmaster.pid')
  const content = await readFile(pidFile, 'utf8')
  await first.stop()
  const other = spawn('sleep', ['60'])
  t.after(() => other.kill())
  await writeFile(pidFile, content.replace(/^\d+/, `${other.pid}`))
  assert.ok(await answers((await start(t, dir)).url))
  assert.equal(other.exitCode, null)
})

test('what an interrupted initdb left behind is removed', async (t) => {
  const dir = await folder(t)
  await mkdir(join(dir, 'new-abc', 'data'), { recursive: true })
  await writeFile(join(dir, 'new-abc', 'data', 'PG_VERSION'), '18')
  assert.ok(await answers((await start(t, dir)).url))
  assert.deepEqual((await readdir(dir)).sort(), ['data', 'port'])
})

test('a parent killed during initdb leaves a folder that the next start can use', async (t) => {
  const dir = await folder(t)
  const script = `
    import { startPostgres } from ${JSON.stringify(join(import.meta.dirname, 'embedded.ts'))}
    await startPostgres({ dir: ${JSON.stringify(dir)}, password: 'x', log: console })`
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script])
  const halfMade = async () => (await readdir(dir)).some((name) => name.startsWith('new-'))
  await until('initdb is at work', halfMade)
  parent.kill('SIGKILL')
  await once(parent, 'exit')
  assert.ok(!existsSync(join(dir, 'data')))
  assert.ok(await answers((await start(t, dir)).url))
  assert.deepEqual((await readdir(dir)).sort(), ['data', 'port'])
})

test('a taken port is refused when it was asked for, and avoided when it was remembered', async (t) => {
  const dir = await folder(t)
  const other = createServer()
  await once(other.listen(0, '127.0.0.1'), 'listening')
  t.after(() => other.close())
  const address = other.address()
  assert.ok(address && typeof address === 'object')
  const { port } = address

  await assert.rejects(start(t, dir, { port }), { kind: 'conflict', code: 'postgres.port_taken' })
  await writeFile(join(dir, 'port'), `${port}\n`)
  assert.notEqual((await start(t, dir)).port, port)
})
