import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import {
  mkdtemp,
  readdir,
  readFile as readLocal,
  rm,
  writeFile as writeLocal,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { TEST_INTERNAL_KEY, testEnvironment } from '@guildhall/bus/testing'
import { actOnPod, createPod, getPod } from '@guildhall/contracts/compute'
import { connectToPod, listMyPods } from '@guildhall/contracts/connect'
import {
  deleteFile,
  downloadFile,
  listFiles,
  renameFile,
  uploadFile,
} from '@guildhall/contracts/pod-files'
import { planPodSession } from '@guildhall/contracts/pod-sessions'
import { testDatabase } from '@guildhall/db/testing'
import { people } from '@guildhall/sandbox/demo'
import { sshOptions, testKeys } from '@guildhall/sandbox/podhost/testing'
import { cleanUp, until } from '@guildhall/service/testing'
import { type Client, clientOf, cliToken, signIn } from './people.ts'
import { operatorAt } from './run-operator.ts'
import { testStack } from './stack.ts'

const MINUTE_MS = 60_000
const FILE_BYTES = 90 * 1024 * 1024
const FILES_AT_ONCE = 2
const WARM_UP_BYTES = 10 * 1024 * 1024
/** Gateway, services and sandbox together: well under a copy of each file, with what V8 leaves lying about. */
const MOST_GROWTH_BYTES = 0.75 * FILES_AT_ONCE * FILE_BYTES

async function podOf(officer: Client, status: string, pod_id: string) {
  return until(async () => {
    const reply = await officer.call(getPod, { params: { org: 'demo', pod_id } })
    return reply.status === 200 && reply.body.pod.status === status && reply.body.pod
  }, 30_000)
}

async function madePod(officer: Client, allowed_users: string[] = []) {
  const made = await officer.call(createPod, { params: { org: 'demo' }, body: { allowed_users } })
  assert.ok(made.status === 201, JSON.stringify(made.body))
  return podOf(officer, 'RUNNING', made.body.pod.id)
}

test('a member who is allowed signs in by the CLI and works in their own folder of a pod', async (t) => {
  const { as, signIn, url } = await testStack(t)
  const officer = as((await signIn(people.officer)).access_token)
  const pod = await madePod(officer, [people.member.id])
  const cli = as(await cliToken(url, people.member))
  const mine = await cli.call(listMyPods, { params: { org: 'demo' } })
  assert.ok(mine.status === 200)
  assert.deepEqual(
    mine.body.pods.map(({ id }) => id),
    [pod.id],
  )
  const keys = await testKeys(t)
  const { stdout: public_key } = await keys.run('ssh-keygen', ['-y', '-f', keys.person])
  const params = { org: 'demo', pod_id: pod.id }
  const given = await cli.call(connectToPod, { params, body: { public_key } })
  assert.ok(given.status === 200, JSON.stringify(given.body))
  const { host, port, username, certificate, known_hosts, user_folder } = given.body
  const [certificateFile, hosts] = [join(keys.folder, 'cert.pub'), join(keys.folder, 'hosts')]
  await writeLocal(certificateFile, `${certificate}\n`)
  await writeLocal(hosts, `${known_hosts}\n`)
  const pinned = ['-o', 'StrictHostKeyChecking=yes', '-o', `UserKnownHostsFile=${hosts}`]
  const options = [...pinned, ...sshOptions(keys.person, certificateFile)]
  const command = 'pwd; id -un; echo hello >mine; cat mine'
  const ran = await keys.run('ssh', [...options, '-p', `${port}`, `${username}@${host}`, command])
  assert.deepEqual(
    [ran.code, ran.stdout],
    [0, `/workspace/${user_folder}\n${user_folder}\nhello\n`],
    ran.stderr,
  )
  assert.equal(user_folder, people.member.username)
  const stranger = as(await cliToken(url, people.officer))
  const other = await stranger.call(listMyPods, { params: { org: 'demo' } })
  assert.ok(other.status === 200 && other.body.pods.length === 0)
})

test('an officer sends, moves, fetches and deletes files of 90 MB while memory stays flat, and spoils the pod alone', async (t) => {
  const { url, residentBytes } = await stackProcess(t)
  const officer = clientOf(url, (await signIn(url, people.officer)).access_token)
  const pod = await madePod(officer)
  const params = { org: 'demo', pod_id: pod.id }
  const moved = (n: number) => `/workspace/moved-${n}.bin`
  const sendAndFetch = async (size: number, n: number) => {
    const bytes = randomBytes(size)
    const name = `model-${n}.bin`
    const old_path = `/workspace/${name}`
    const body = { path: '/workspace', file: new File([bytes], name) }
    const sent = await officer.call(uploadFile, { params, body })
    assert.deepEqual(sent.body, { path: old_path, size })
    const renamed = { old_path, new_path: moved(n) }
    assert.equal((await officer.call(renameFile, { params, body: renamed })).status, 200)
    const got = await officer.call(downloadFile, { params, body: { path: moved(n) } })
    assert.ok(got.status === 200)
    const hash = createHash('sha256')
    for await (const chunk of got.body) hash.update(chunk)
    assert.equal(hash.digest('hex'), createHash('sha256').update(bytes).digest('hex'))
  }
  const remove = (path: string) => officer.call(deleteFile, { params, body: { path } })
  await sendAndFetch(WARM_UP_BYTES, 0)
  await remove(moved(0))
  const before = residentBytes()
  const memory = { most: before }
  const watch = setInterval(() => {
    memory.most = Math.max(memory.most, residentBytes())
  }, 50)
  const files = Array.from({ length: FILES_AT_ONCE }, (_, n) => n)
  await Promise.all(files.map((n) => sendAndFetch(FILE_BYTES, n))).finally(() =>
    clearInterval(watch),
  )
  const grown = memory.most - before
  t.diagnostic(`the stack grew by ${Math.round(grown / 1e6)} MB over all transfers`)
  assert.ok(grown < MOST_GROWTH_BYTES, `${grown} bytes`)

  const machine = await machineNow()
  assert.equal((await remove(moved(0))).status, 200)
  assert.equal((await remove('/etc')).status, 200)
  const usr = await remove('/usr')
  assert.ok([403, 409, 502].includes(usr.status), 'it is read-only in the sandbox')
  assert.deepEqual(await machineNow(), machine)
  const left = await officer.call(listFiles, { params, query: { path: '/' } })
  if (left.status === 200) assert.ok(!left.body.files.some(({ name }) => name === 'etc'))
  await officer.call(actOnPod, { params, body: { action: 'restart' } })
  await podOf(officer, 'RUNNING', pod.id)
})

/** A stack in a process of its own, and how much memory that has. */
async function stackProcess(t: TestContext) {
  const home = await mkdtemp(join(tmpdir(), 'guildhall-test-e2e-'))
  cleanUp(t, () => rm(home, { recursive: true, force: true }))
  const DATABASE_URL = await testDatabase(t)
  const base = { PORT: '0', LOG_LEVEL: 'fatal', DATABASE_URL, INTERNAL_KEY: TEST_INTERNAL_KEY }
  const env = { ...(await testEnvironment()), ...base }
  const child = fork(new URL('./stack-process.ts', import.meta.url), { execArgv: [] })
  child.send({ home, env })
  const ended = once(child, 'exit')
  cleanUp(t, async () => {
    if (child.connected) child.disconnect()
    await ended
  })
  const [url] = (await once(child, 'message')) as [string]
  const residentBytes = () => {
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024
  }
  return { url, residentBytes }
}

/** What a deletion that left the pod would change. */
async function machineNow() {
  const [etc, usr, bin] = await Promise.all(
    ['/etc', '/usr', '/usr/bin'].map((path) => readdir(path)),
  )
  return {
    etc: etc?.sort(),
    usr: usr?.sort(),
    bin: bin?.length,
    passwd: await readLocal('/etc/passwd', 'utf8'),
  }
}

test('a session starts its pod before it begins and stops it when it is over', async (t) => {
  const clock = { ahead: 0 }
  const now = () => new Date(Date.now() + clock.ahead)
  const stack = await testStack(t, {}, now)
  const officer = stack.as((await stack.signIn(people.officer)).access_token)
  const operator = operatorAt(stack)
  const pod = await madePod(officer)
  const params = { org: 'demo', pod_id: pod.id }
  const act = (action: 'stop') => officer.call(actOnPod, { params, body: { action } })
  assert.equal((await act('stop')).status, 200)
  const inMinutes = (minutes: number) => new Date(Date.now() + minutes * MINUTE_MS).toISOString()
  const body = { title: 'training', start_at: inMinutes(12), stop_at: inMinutes(20) }
  assert.equal((await officer.call(planPodSession, { params, body })).status, 201)
  const schedule = async (minutes: number) => {
    clock.ahead = minutes * MINUTE_MS
    const { code, err, out } = await operator('jobs', 'run', 'compute.schedule')
    assert.equal(code, 0, err + out)
  }
  await schedule(0)
  await podOf(officer, 'EXITED', pod.id)
  await schedule(3)
  await podOf(officer, 'RUNNING', pod.id)
  await schedule(21)
  await podOf(officer, 'EXITED', pod.id)
})
