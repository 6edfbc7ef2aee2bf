import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { testEnvironment } from '@guildhall/bus/testing'
import { cleanUp, until } from '@guildhall/service/testing'

const root = fileURLToPath(new URL('../..', import.meta.url))
const START_MS = 60_000

/** A folder of the test's own. */
export async function newHome(t: TestContext) {
  const home = await mkdtemp(join(tmpdir(), 'guildhall-test-start-'))
  cleanUp(t, () => rm(home, { recursive: true, force: true }))
  return home
}

/** What `npm start` runs, or another entry, with its output so far. */
export async function launch(
  t: TestContext,
  home: string,
  env: Record<string, string> = {},
  entry = 'scripts/src/start.ts',
) {
  const settings = {
    ...(await testEnvironment()),
    GUILDHALL_HOME: home,
    PORT: '0',
    LOG_LEVEL: 'warn',
    ...env,
  }
  const started = spawn(process.execPath, ['scripts/bootstrap.mjs', entry], {
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

/** Where it answers, once it does. */
export async function ready(launched: Awaited<ReturnType<typeof launch>>) {
  const url = await until(
    () => /runs at (http:[\w.:/]+\w)/.exec(launched.output())?.[1],
    START_MS,
  ).catch(() => {
    throw new Error(`Not ready:\n${launched.output()}`)
  })
  return url
}

/** The exit code, once it has ended. */
export async function ended(started: ChildProcess) {
  if (started.exitCode === null && started.signalCode === null) await once(started, 'exit')
  return started.exitCode
}

/** The process of start.ts itself, from which the servers descend. */
export const mainPid = async (home: string) =>
  JSON.parse(await readFile(join(home, 'running.json'), 'utf8')).pid as number
/** Those of Postgres and nats-server. */
export const serverPids = async (home: string) => {
  const postgres = await readFile(join(home, 'postgres/data/postmaster.pid'), 'utf8')
  const nats = await readFile(join(home, 'nats/nats.pid'), 'utf8')
  return [Number.parseInt(postgres, 10), Number.parseInt(nats, 10)]
}
