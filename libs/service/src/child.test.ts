import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ChildOptions, restartDelayMs, superviseChild } from './child.ts'
import { createLog } from './log.ts'
import { inspectProcess } from './supervised-server.ts'

const DEADLINE_MS = 8_000
const log = createLog('test', { format: 'json', level: 'silent' })

/** Counts its starts in the folder, says `ready` and waits. */
const COUNTING = 'echo start >> starts; echo ready; while :; do sleep 0.02; done'

function shell(cwd: string, script: string): ChildOptions {
  return {
    name: 'counter',
    command: 'sh',
    args: ['-c', script],
    cwd,
    env: { PATH: '/usr/bin:/bin' },
    stopSignal: 'SIGTERM',
    ready: { line: /^ready$/ },
    log,
  }
}

async function folder(t: TestContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'child-'))
  t.after(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  return dir
}

async function until(what: string, condition: () => unknown): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS
  while (!(await condition())) {
    assert.ok(performance.now() < deadline, `in time: ${what}`)
    await sleep(10)
  }
}

const starts = async (dir: string) =>
  (await readFile(join(dir, 'starts'), 'utf8').catch(() => '')).split('\n').length - 1

const isGone = async (pid: number | undefined) => !(await inspectProcess(Number(pid)))?.command

test('a child that dies is started again and again', async (t) => {
  const dir = await folder(t)
  const child = await superviseChild(shell(dir, COUNTING))
  t.after(() => child.stop())
  for (const n of [2, 3]) {
    process.kill(Number(child.pid()), 'SIGKILL')
    await until(`start ${n}`, async () => (await starts(dir)) === n)
    await until('it has a pid', () => child.pid())
  }
})

test('the wait before a restart doubles from 100 ms to at most 5 s', () => {
  assert.deepEqual([1, 2, 3, 6, 7, 50].map(restartDelayMs), [100, 200, 400, 3200, 5000, 5000])
})

test('stopping ends the process and it stays ended', async (t) => {
  const dir = await folder(t)
  const child = await superviseChild(shell(dir, COUNTING))
  const pid = child.pid()
  await Promise.all([child.stop(), child.stop()])
  assert.ok(await isGone(pid))
  assert.equal(child.pid(), undefined)
  assert.equal(await starts(dir), 1)
})

test('stopping while a restart is waited for starts nothing', async (t) => {
  const dir = await folder(t)
  const child = await superviseChild(shell(dir, COUNTING))
  process.kill(Number(child.pid()), 'SIGKILL')
  await until('it died', () => child.pid() === undefined)
  await child.stop()
  assert.equal(await starts(dir), 1)
})

test('a child deaf to its stop signal is killed after the deadline, with its own children', async (t) => {
  const dir = await folder(t)
  const deaf =
    'trap "" TERM; sleep 60 & echo $! > grandchild; echo ready; while :; do sleep 1; done'
  const child = await superviseChild({ ...shell(dir, deaf), stopWithinMs: 100 })
  const grandchild = Number(await readFile(join(dir, 'grandchild'), 'utf8'))
  await child.stop()
  await until('the grandchild is gone', () => isGone(grandchild))
})

test('a first start that fails throws the last lines of output and is not repeated', async (t) => {
  const dir = await folder(t)
  const failing = superviseChild(shell(dir, 'echo start >> starts; echo no disk >&2; exit 3'))
  await assert.rejects(failing, {
    kind: 'unavailable',
    code: 'counter.not_ready',
    message: 'counter exited with 3\nno disk',
  })
  assert.equal(await starts(dir), 1)
})

test('a command that does not exist throws', async (t) => {
  const missing = superviseChild({ ...shell(await folder(t), ''), command: '/none/such' })
  await assert.rejects(missing, { code: 'counter.not_ready' })
})

test('a child that never becomes ready is ended and throws', async (t) => {
  const dir = await folder(t)
  const mute = 'echo $$ > pid; while :; do sleep 0.02; done'
  const failing = superviseChild({ ...shell(dir, mute), readyWithinMs: 200 })
  await assert.rejects(failing, { message: /was not ready within 200 ms/ })
  assert.ok(await isGone(Number(await readFile(join(dir, 'pid'), 'utf8'))))
})

test('a probe is asked until it says yes, and a throwing one counts as no', async (t) => {
  let asked = 0
  const probe = async () => {
    asked += 1
    if (asked === 1) throw new Error('refused')
    return asked === 3
  }
  const child = await superviseChild({ ...shell(await folder(t), COUNTING), ready: { probe } })
  await child.stop()
  assert.equal(asked, 3)
})

for (const how of ['SIGKILL', 'SIGINT'] as const) {
  test(`a child ends with a parent that ${how} ends`, async (t) => {
    const dir = await folder(t)
    const polite = `trap "touch ended; exit" TERM; ${COUNTING}`
    const script = `
      import { superviseChild } from ${JSON.stringify(join(import.meta.dirname, 'child.ts'))}
      const log = { debug() {}, error() {}, info() {} }
      const options = { ...${JSON.stringify(shell(dir, polite))}, ready: { line: /^ready$/ }, log }
      await superviseChild(options)
      process.on('SIGINT', () => process.exit(1))
      console.log('up')`
    await writeFile(join(dir, 'parent.mjs'), script)
    const parent = spawn(process.execPath, [join(dir, 'parent.mjs')])
    await once(parent.stdout, 'data')
    parent.kill(how)
    await until('the child ended in order', () => existsSync(join(dir, 'ended')))
  })
}

test('a child is not in the process group that a terminal interrupts', async (t) => {
  const child = await superviseChild(shell(await folder(t), COUNTING))
  t.after(() => child.stop())
  const stat = await readFile(`/proc/${child.pid()}/stat`, 'utf8')
  assert.equal(Number(stat.split(') ')[1]?.split(' ')[2]), child.pid())
})
