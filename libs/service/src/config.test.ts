import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { z } from 'zod'
import { commonSettings, type Env, Port, readSettings, SettingsError } from './config.ts'

const Settings = z.object({
  ...commonSettings,
  TEST_PORT: Port.default(4000).describe('Where the test listens'),
})
const good = {
  INTERNAL_KEY: 'ab'.repeat(32),
  DATABASE_URL: 'postgres://owner@host/name',
  NATS_URL: 'nats://host:4222',
}

function refusal(env: Env): string {
  try {
    readSettings(Settings, env)
  } catch (error) {
    assert.ok(error instanceof SettingsError)
    return error.message
  }
  throw new Error('It was accepted')
}

async function secretFile(t: TestContext, content: string) {
  const dir = await mkdtemp(join(tmpdir(), 'guildhall-config-'))
  t.after(() => rm(dir, { recursive: true }))
  await writeFile(join(dir, 'secret'), content)
  return join(dir, 'secret')
}

test('settings that are left out have their defaults', () => {
  assert.deepEqual(readSettings(Settings, { ...good, UNRELATED: 'x' }), {
    ...good,
    LOG_FORMAT: 'json',
    LOG_LEVEL: 'info',
    GIT_COMMIT_HASH: 'unknown',
    TRACKER_LOGS_LEVEL: 'WARNING',
    TRACKER_TRACES_SAMPLE_RATE: 0.1,
    TRACKER_PROFILES_SAMPLE_RATE: 0,
    TRACKER_ENVIRONMENT: 'production',
    TEST_PORT: 4000,
  })
})

test('every fault is told at once, with what the setting is for', () => {
  const said = refusal({ INTERNAL_KEY: 'short', LOG_LEVEL: 'loud', TEST_PORT: '70000' })
  for (const name of ['INTERNAL_KEY', 'DATABASE_URL', 'NATS_URL', 'LOG_LEVEL', 'TEST_PORT']) {
    assert.match(said, new RegExp(`^ {2}${name}: `, 'm'))
  }
  assert.match(said, /openssl rand -hex 32/)
  assert.match(said, /"debug"\|"info"/)
  assert.match(said, /Where the test listens/)
})

test('an address that no nats-server has is refused, before anybody connects to it', () => {
  for (const NATS_URL of ['nats://h', 'tls://[::1]:4222', 'nats://user:pass@host.example:4222'])
    assert.equal(readSettings(Settings, { ...good, NATS_URL }).NATS_URL, NATS_URL)
  for (const NATS_URL of [
    'notaurl',
    'http://host:4222',
    'host:4222',
    'nats://',
    'nats:host',
    'nats://h:99999',
    'nats://a:1,nats://b:2',
    'nats://a,b',
  ])
    assert.match(refusal({ ...good, NATS_URL }), /NATS_URL: needs nats:/, NATS_URL)
})

test('an address that no database has is refused, and says how a password is written', () => {
  for (const DATABASE_URL of ['postgres://h', 'postgresql://u:a%23b@[::1]:5432/db?sslmode=require'])
    assert.equal(readSettings(Settings, { ...good, DATABASE_URL }).DATABASE_URL, DATABASE_URL)
  for (const password of ['a#b', 'a/b', 'a?b']) {
    const said = refusal({ ...good, DATABASE_URL: `postgres://u:${password}@h/db` })
    assert.match(said, /DATABASE_URL: is no URL; write # .* as %23/)
    assert.ok(!said.includes(password))
  }
})

test('a DSN that the tracker would not take is refused', () => {
  const dsn = (TRACKER_DSN: string) => readSettings(Settings, { ...good, TRACKER_DSN })
  for (const one of ['https://key@host/1', 'http://key@[::1]:9/at/2']) assert.ok(dsn(one))
  for (const one of ['https://host/1', 'https://ke-y@host/1', 'https://key@host/', 'key@host/1'])
    assert.throws(() => dsn(one), /TRACKER_DSN: needs https/)
})

test('a faulty secret is never repeated', () => {
  const secrets = { INTERNAL_KEY: 'hunter2-hunter2', DATABASE_URL: 'mysql://root:hunter2@host' }
  assert.doesNotMatch(refusal({ ...good, ...secrets }), /hunter2/)
})

test('an empty text counts as unset', () => {
  const read = readSettings(Settings, { ...good, LOG_FORMAT: '', TEST_PORT: '' })
  assert.deepEqual([read.LOG_FORMAT, read.TEST_PORT], ['json', 4000])
  assert.match(refusal({ ...good, NATS_URL: '' }), /NATS_URL/)
})

test('a SQLite URL is told what to do instead, and only that', () => {
  for (const DATABASE_URL of ['sqlite:///data.db', 'sqlite+aiosqlite:///data.db']) {
    const said = refusal({ ...good, DATABASE_URL })
    assert.match(said, /SQLite is not supported; leave it unset and npm start brings its own/)
    assert.doesNotMatch(said, /needs a postgres/)
  }
})

test('a secret may stand in a file, without the line end that editors add', async (t) => {
  const { INTERNAL_KEY, ...others } = good
  const INTERNAL_KEY_FILE = await secretFile(t, `${INTERNAL_KEY}\n`)
  assert.equal(readSettings(Settings, { ...others, INTERNAL_KEY_FILE }).INTERNAL_KEY, INTERNAL_KEY)
})

test('the setting itself goes before its file', async (t) => {
  const INTERNAL_KEY_FILE = await secretFile(t, 'cd'.repeat(32))
  assert.equal(
    readSettings(Settings, { ...good, INTERNAL_KEY_FILE }).INTERNAL_KEY,
    good.INTERNAL_KEY,
  )
})

test('a file that cannot be read or is empty is a fault that names it', async (t) => {
  const { INTERNAL_KEY: _, ...others } = good
  assert.match(refusal({ ...others, INTERNAL_KEY_FILE: '/none/here' }), /INTERNAL_KEY_FILE: .*none/)
  assert.match(refusal({ ...others, INTERNAL_KEY_FILE: await secretFile(t, '\n') }), /INTERNAL_KEY/)
  assert.match(refusal({ ...good, LOG_LEVEL_FILE: '/none/here' }), /LOG_LEVEL_FILE/)
})
