import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { cleanUp, until } from '@guildhall/service/testing'
import { demoWorld } from '../demo.ts'
import { startSandbox } from '../sandbox.ts'
import { PROGRAMS, quietLog } from '../testing.ts'
import { asRoot, gpuPod, podhostClient, testKeys } from './testing.ts'

const SECRET = 'kept over restarts'
const KEY = demoWorld(SECRET).keys.podhost

async function newHome(t: TestContext) {
  const home = await mkdtemp(join(tmpdir(), 'pods-home-'))
  cleanUp(t, () => rm(home, { recursive: true, force: true, maxRetries: 5 }))
  return home
}

/** A sandbox in a process of its own; `wrapper` runs it. */
async function sandboxProcess(t: TestContext, home: string, wrapper: string[] = []) {
  const script = `
    import { startSandbox } from ${JSON.stringify(join(import.meta.dirname, '../sandbox.ts'))}
    import { demoWorld } from ${JSON.stringify(join(import.meta.dirname, '../demo.ts'))}
    const quiet = { debug() {}, info() {}, warn() {}, error() {} }
    const where = ${JSON.stringify({ home, programs: PROGRAMS })}
    const options = { world: demoWorld(${JSON.stringify(SECRET)}), redirectUris: [], log: quiet, env: process.env, ...where }
    process.stdout.write((await startSandbox(options)).url)`
  const [command = '', ...args] = [
    ...wrapper,
    process.execPath,
    '--input-type=module',
    '-e',
    script,
  ]
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  cleanUp(t, async () => {
    child.kill('SIGKILL')
    await exited
  })
  const [url] = await once(child.stdout, 'data')
  return { child, exited, host: podhostClient(`${url}/podhost/v2`, KEY) }
}

async function openHere(t: TestContext, home: string) {
  const options = { world: demoWorld(SECRET), redirectUris: [], log: quietLog, env: process.env }
  const sandbox = await startSandbox({ ...options, home, programs: PROGRAMS })
  cleanUp(t, () => sandbox.stop())
  return podhostClient(sandbox.podhostUrl, KEY)
}

/** Processes whose mounts are those of a pod below this home. */
async function processesOf(home: string) {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const mounts = pids.map((pid) => readFile(`/proc/${pid}/mountinfo`, 'utf8').catch(() => ''))
  const found = await Promise.all(mounts)
  return pids.filter((_, n) => found[n]?.includes(`/${basename(home)}/pods/`)) // paths there begin at their file system
}

test('a killed sandbox leaves no process of a pod, and the next one runs its pods again', async (t) => {
  const home = await newHome(t)
  const keys = await testKeys(t)
  const before = await sandboxProcess(t, home)
  const pod = await before.host.create(keys.env)
  const idle = await before.host.create(keys.env)
  await before.host.act(idle.id, 'stop')
  await asRoot(keys, pod, 'echo kept >/workspace/file')
  assert.ok((await processesOf(home)).length > 1)
  before.child.kill('SIGKILL')
  await before.exited
  await until(async () => (await processesOf(home)).length === 0)
  const host = await openHere(t, home)
  const again = await host.become(pod.id, 'RUNNING')
  assert.equal((await asRoot(keys, again, 'cat /workspace/file')).stdout, 'kept\n')
  assert.equal((await host.ask('GET', `/pods/${idle.id}`)).body.status, 'EXITED')
})

test('a sandbox that stops ends its pods, and a terminated pod leaves nothing', async (t) => {
  const home = await newHome(t)
  const keys = await testKeys(t)
  const host = await openHere(t, home)
  const pod = await host.create(keys.env)
  await asRoot(
    keys,
    pod,
    'mkdir -p /workspace/deep/er; chmod 000 /workspace/deep; ln -s / /workspace/out',
  )
  assert.equal((await host.act(pod.id, 'terminate')).status, 204)
  assert.deepEqual(await readdir(join(home, 'pods')), [])
  await until(async () => (await processesOf(home)).length === 0)
})

test('where namespaces are refused the pod is ERROR, and its log says why', async (t) => {
  const withoutRight = ['setpriv', '--bounding-set=-sys_admin', '--inh-caps=-sys_admin']
  const { host } = await sandboxProcess(t, await newHome(t), withoutRight)
  const { body } = await host.ask('POST', '/pods', gpuPod)
  const pod = await host.become(body.id, 'ERROR')
  assert.deepEqual(pod.actions, ['start', 'terminate'])
  const log = await host.ask('GET', `/pods/${body.id}/logs`)
  assert.match(String(log.body), /unshare: .*not permitted/)
})
