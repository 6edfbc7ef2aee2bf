import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { testEnvironment } from '@guildhall/bus/testing'
import { getJwks } from '@guildhall/contracts/auth'
import { deactivateOrg } from '@guildhall/contracts/superadmin'
import { people } from '@guildhall/sandbox/demo'
import { cleanUp, until } from '@guildhall/service/testing'
import { clientOf, orgIdOf, signIn } from './people.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const START_MS = 60_000

async function newHome(t: TestContext) {
  const home = await mkdtemp(join(tmpdir(), 'guildhall-test-start-'))
  cleanUp(t, () => rm(home, { recursive: true, force: true }))
  return home
}

/** What `npm start` runs, with its output so far. */
async function launch(t: TestContext, home: string, env: Record<string, string> = {}) {
  const settings = {
    ...(await testEnvironment()),
    GUILDHALL_HOME: home,
    PORT: '0',
    LOG_LEVEL: 'warn',
    ...env,
  }
  const started = spawn(process.execPath, ['scripts/bootstrap.mjs', 'scripts/src/start.ts'], {
    cwd: root,
    env: settings,
  })
  let output = ''
  for (const stream of [started.stdout, started.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk
    })
  }
  cleanUp(t, async () => {
    if (started.exitCode === null && started.signalCode === null) started.kill('SIGKILL')
  })
  return { process: started, output: () => output }
}

async function ready(launched: Awaited<ReturnType<typeof launch>>) {
  const url = await until(() => /runs at (http:\S+)/.exec(launched.output())?.[1], START_MS).catch(
    () => {
      throw new Error(`Not ready:\n${launched.output()}`)
    },
  )
  return url
}

async function ended(started: ChildProcess) {
  if (started.exitCode === null && started.signalCode === null) await once(started, 'exit')
  return started.exitCode
}

/** The process of start.ts itself, from which the servers descend. */
const mainPid = async (home: string) =>
  JSON.parse(await readFile(join(home, 'running.json'), 'utf8')).pid as number
const serverPids = async (home: string) => {
  const postgres = await readFile(join(home, 'postgres/data/postmaster.pid'), 'utf8')
  const nats = await readFile(join(home, 'nats/nats.pid'), 'utf8')
  return [Number.parseInt(postgres, 10), Number.parseInt(nats, 10)]
}

function lives(pid: number) {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test('Ctrl-C leaves no process and no lock, kill -9 neither for long, and the data stay', async (t) => {
  const home = await newHome(t)
  const first = await launch(t, home)
  const url = await ready(first)
  assert.match(first.output(), /olivia {2}officer of Demo Club/)
  const { access_token } = await signIn(url, people.officer)
  const org = await orgIdOf(clientOf(url, access_token))
  const keys = await clientOf(url).call(getJwks, {})

  const superadmin = clientOf(url, (await signIn(url, people.superadmin)).access_token)
  const params = { org_id: String(await orgIdOf(superadmin, 'rival')) }
  assert.equal((await superadmin.call(deactivateOrg, { params })).status, 200)

  const again = await launch(t, home)
  assert.equal(await ended(again.process), 1)
  assert.match(again.output(), /already runs from/)

  const servers = await serverPids(home)
  first.process.kill('SIGINT')
  assert.equal(await ended(first.process), 0, first.output())
  assert.deepEqual(servers.filter(lives), [])
  await assert.rejects(access(join(home, 'running.json')))

  const second = await launch(t, home)
  const secondUrl = await ready(second)
  assert.deepEqual(await clientOf(secondUrl).call(getJwks, {}), keys)
  process.kill(await mainPid(home), 'SIGKILL')
  await ended(second.process)

  const third = await launch(t, home)
  const thirdUrl = await ready(third)
  const officer = clientOf(thirdUrl, (await signIn(thirdUrl, people.officer)).access_token)
  assert.equal(await orgIdOf(officer), org)
  third.process.kill('SIGTERM')
  assert.equal(await ended(third.process), 0)
})

for (const [what, env, said] of [
  ['a SQLite URL', { DATABASE_URL: 'sqlite:///club.db' }, /SQLite is not supported/],
  [
    'another HOST for the sandbox',
    { HOST: '0.0.0.0' },
    /the sandbox lets anybody sign in as anybody/,
  ],
  ['a port that is none', { PORT: 'abc' }, /PORT is abc; it takes 0 to 65535/],
  ['a setting that is none', { SYS_ADMIN: 'olivia' }, /SYS_ADMIN: needs chat user ids/],
  ['a nats-server that is none', { NATS_SERVER_BIN: '/nowhere' }, /NATS_SERVER_BIN is \/nowhere/],
] as const) {
  test(`${what} stops the start with what is accepted, and leaves no process`, async (t) => {
    const home = await newHome(t)
    const launched = await launch(t, home, env)
    assert.equal(await ended(launched.process), 1)
    assert.match(launched.output(), said)
    assert.doesNotMatch(launched.output(), /\n {4}at /, 'a stack is no answer to an officer')
  })
}

test('a demo folder refuses real credentials', async (t) => {
  const home = await newHome(t)
  const demo = await launch(t, home)
  await ready(demo)
  demo.process.kill('SIGINT')
  await ended(demo.process)
  const real = await launch(t, home, { BOT_TOKEN: 'real' })
  assert.equal(await ended(real.process), 1)
  assert.match(real.output(), /holds demo data, but outside credentials are set/)
})
