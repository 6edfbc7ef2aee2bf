import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Child, type ChildOptions, restartDelayMs, superviseChild } from './child.ts'
import { AppError } from './errors.ts'
import type { Log } from './log.ts'

/** Each one with a port of its own: between choosing a port and binding it another may take it. */
const ATTEMPTS = 4
const STALE_STOPS_WITHIN_MS = 10_000
const STALE_DIES_WITHIN_MS = 2_000
const PORT_FREED_WITHIN_MS = 1_000
const LOOK_EVERY_MS = 20
const OWNER = /guildhall\.owner=(\d+)/

export interface ServerOptions {
  name: string
  /** Absolute. It must occur in the server's command line: a stale server is recognised by it. */
  dir: string
  /** Written by the server, its process id in the first line. */
  pidFile: string
  /** Refused when taken. Left out, it is the port of the last time if free, else any free one. */
  port?: number
  stopSignal: NodeJS.Signals
  log: Log
  /** The command line must also hold `ownerMark()`. */
  child: (port: number) => Promise<ChildOptions>
}

/**
 * Runs a server that owns a folder and a port, ending first what a killed parent left running on it.
 * Throws AppError conflict when a living parent holds the folder or the given port is taken.
 */
export async function superviseServer(options: ServerOptions): Promise<Child & { port: number }> {
  const { name, dir, log } = options
  await mkdir(dir, { recursive: true, mode: 0o700 })
  for (let attempt = 1; ; attempt++) {
    await endStaleServer(options)
    const port = await choosePort(options)
    try {
      const child = await superviseChild(await options.child(port))
      await writeFile(join(dir, 'port'), `${port}\n`)
      const stop = async () => {
        await child.stop()
        await rm(options.pidFile, { force: true }) // not every server removes its own
      }
      return { ...child, stop, port }
    } catch (error) {
      if (attempt === ATTEMPTS) throw error
      log.warn({ child: name, err: error }, `${name} did not start; trying again`)
      await sleep(restartDelayMs(attempt))
    }
  }
}

/** What a server's command line says about who looks after it. */
export const ownerMark = () => `guildhall.owner=${process.pid}`

/** A living process as far as one may look; undefined when there is none. */
export async function inspectProcess(pid: number) {
  if (process.platform !== 'linux') {
    const ps = spawnSync('ps', ['-ww', '-o', 'ppid=,command=', '-p', `${pid}`], {
      encoding: 'utf8',
    })
    const [, parent, command] = /^\s*(\d+)\s+(.*)/.exec(ps.stdout) ?? []
    return parent && command ? { parent: Number(parent), command } : undefined
  }
  try {
    const status = await readFile(`/proc/${pid}/status`, 'utf8')
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8')
    const parent = Number(/^PPid:\s*(\d+)/m.exec(status)?.[1])
    return { parent, command: command.replaceAll('\0', ' ') } // a zombie's command is empty
  } catch {
    return undefined
  }
}

/** The process id in the first line of a file, undefined when there is no such file or number. */
export async function readPid(file: string): Promise<number | undefined> {
  const pid = Number.parseInt(await readFile(file, 'utf8').catch(() => ''), 10)
  return pid > 0 ? pid : undefined
}

async function endStaleServer({ name, dir, pidFile, stopSignal, log }: ServerOptions) {
  const pid = await readPid(pidFile)
  if (pid === undefined) return
  const ours = async () => {
    const found = await inspectProcess(pid)
    return found?.command.includes(dir) ? found : undefined
  }
  const stale = await ours()
  if (!stale) return
  if (stale.parent === Number(OWNER.exec(stale.command)?.[1])) {
    const message = `${dir} is in use by process ${stale.parent}: stop it, or set GUILDHALL_HOME to another folder`
    throw new AppError('conflict', `${name}.in_use`, message)
  }
  log.warn({ child: name, pid }, `ending the ${name} that an earlier start left running`)
  const isGone = async () => !(await ours())
  if (await endsAfter(stopSignal, STALE_STOPS_WITHIN_MS)) return
  if (await endsAfter('SIGKILL', STALE_DIES_WITHIN_MS)) return
  throw new AppError('conflict', `${name}.in_use`, `Process ${pid} holds ${dir} and does not end`)

  async function endsAfter(signal: NodeJS.Signals, withinMs: number): Promise<boolean> {
    const deadline = performance.now() + withinMs
    try {
      process.kill(Number(pid), signal)
    } catch {
      return isGone() // it ended in the meantime, or is not ours to end
    }
    while (performance.now() < deadline) {
      if (await isGone()) return true
      await sleep(LOOK_EVERY_MS)
    }
    return false
  }
}

async function choosePort({ name, dir, pidFile, port }: ServerOptions): Promise<number> {
  const last = Number.parseInt(await readFile(join(dir, 'port'), 'utf8').catch(() => ''), 10)
  const wanted = port ?? last
  if (wanted > 0 && (await isFree(wanted, pidFile))) return wanted
  const free = port === undefined && (await bindOnce(0))
  if (free) return free
  const message = `Port ${wanted} is taken: choose another, or none to have a free one found`
  throw new AppError('conflict', `${name}.port_taken`, message)
}

/** The kernel closes the sockets of a killed process a moment after its command line is gone. */
async function isFree(port: number, pidFile: string): Promise<boolean> {
  const patience = (await readPid(pidFile)) === undefined ? 0 : PORT_FREED_WITHIN_MS
  const deadline = performance.now() + patience
  while (!(await bindOnce(port))) {
    if (performance.now() >= deadline) return false
    await sleep(LOOK_EVERY_MS)
  }
  return true
}

/** The port that was free just now, undefined if it was not. */
async function bindOnce(port: number): Promise<number | undefined> {
  const server = createServer()
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening')
  } catch {
    return undefined
  }
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' ? address?.port : undefined
}
