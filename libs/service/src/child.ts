import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from './errors.ts'
import type { Log } from './log.ts'

const READY_WITHIN_MS = 30_000
const STOP_WITHIN_MS = 10_000
const PROBE_EVERY_MS = 15
const FIRST_DELAY_MS = 100
const LONGEST_DELAY_MS = 5_000
/** A child that ran this long before it died starts again as if it had never died. */
const HEALTHY_MS = 30_000
const TAIL_LINES = 20
/** How long output is awaited after an exit: grandchildren may hold the pipe open for ever. */
const LAST_WORDS_MS = 1_000

export interface ChildOptions {
  /** As log lines and error codes call it: `postgres`. */
  name: string
  command: string
  args: readonly string[]
  /** All of its environment; nothing of ours leaks into it. `PATH` finds `command`. */
  env: Readonly<Record<string, string>>
  cwd?: string
  /** A command with arguments that runs the command: `['unshare', '--user']`. It must exec, not fork. */
  wrapper?: readonly string[]
  /** The user and group it runs as, when not ours. */
  as?: { uid: number; gid: number }
  /** Asks for an orderly end. On Linux the child also gets it when this process dies, however it dies. */
  stopSignal: NodeJS.Signals
  /** After this it is killed. */
  stopWithinMs?: number
  readyWithinMs?: number
  /** A line that it prints once ready, or a question that is asked until the answer is yes. */
  ready: { line: RegExp } | { probe: () => Promise<boolean> }
  log: Log
}

export interface Child {
  /** Undefined while it is down between a death and the next start. */
  pid(): number | undefined
  /** Resolves when the process is gone. It is never started again. */
  stop(): Promise<void>
}

interface Run {
  process: ChildProcess
  tail: string[]
  sawLine: Promise<void>
  /** How it ended, once it has. Never rejects. */
  gone: Promise<string>
  readyAt: number | undefined
}

/**
 * Starts a process, resolves when it is ready, and starts it again with the same arguments whenever it
 * dies, 100 ms later at first, then twice as long each time up to 5 s.
 * It leads its own process group, so that a terminal's Ctrl-C reaches only us and we decide the order
 * in which things stop. Call it from the main thread: the kernel ties the child to the calling thread.
 * Throws AppError `<name>.not_ready` with its last lines if the first start fails.
 */
export async function superviseChild(options: ChildOptions): Promise<Child> {
  const stopping = new AbortController()
  const kept = { run: launch(options) }
  const endWithUs = () => send(kept.run, options.stopSignal)
  process.on('exit', endWithUs)
  try {
    await becomeReady(kept.run, options)
  } catch (error) {
    await end(kept.run, options)
    process.off('exit', endWithUs)
    throw error
  }
  const restarts = restartUntil(stopping.signal, kept, options)
  return {
    pid: () => (lives(kept.run) ? kept.run.process.pid : undefined),
    async stop() {
      stopping.abort()
      await end(kept.run, options)
      await restarts
      process.off('exit', endWithUs)
    },
  }
}

async function restartUntil(stopping: AbortSignal, kept: { run: Run }, options: ChildOptions) {
  const { name, log } = options
  for (let deaths = 0; ; ) {
    const how = await kept.run.gone
    if (stopping.aborted) return
    deaths = livedWell(kept.run) ? 1 : deaths + 1
    const delay_ms = restartDelayMs(deaths)
    log.error({ child: name, tail: kept.run.tail, delay_ms }, `${name} ${how}; starting it again`)
    await sleep(delay_ms, undefined, { signal: stopping }).catch(() => {}) // only ever an abort
    if (stopping.aborted) return
    kept.run = launch(options)
    void returnOrKill(kept.run, options)
  }
}

/** How long to wait before the start that follows the nth death in a row, n from 1. */
export function restartDelayMs(deaths: number): number {
  return Math.min(FIRST_DELAY_MS * 2 ** (deaths - 1), LONGEST_DELAY_MS)
}

function livedWell({ readyAt }: Run): boolean {
  return readyAt !== undefined && performance.now() - readyAt >= HEALTHY_MS
}

/**
 * The arguments in front of a command that make Linux send it `stopSignal` when the thread that
 * spawned it dies; none where util-linux is missing. It belongs after any `unshare`, as the kernel
 * forgets the wish when credentials change.
 */
export function endWithParent(
  stopSignal: NodeJS.Signals,
  env: ChildOptions['env'],
): readonly string[] {
  const guard = ['setpriv', '--pdeathsig', stopSignal]
  if (process.platform !== 'linux') return []
  guardWorks ??= spawnSync('setpriv', [...guard.slice(1), 'true'], { env }).status === 0
  return guardWorks ? guard : []
}
let guardWorks: boolean | undefined

function launch(options: ChildOptions): Run {
  const guard = endWithParent(options.stopSignal, options.env)
  const argv = [...(options.wrapper ?? []), ...guard, options.command, ...options.args]
  const child = spawn(argv[0] ?? options.command, argv.slice(1), {
    ...options.as,
    ...(options.cwd !== undefined && { cwd: options.cwd }),
    env: options.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const seen = Promise.withResolvers<void>()
  const run = {
    process: child,
    tail: [],
    sawLine: seen.promise,
    gone: whenGone(child),
    readyAt: undefined,
  }
  readLines(run, options, seen.resolve)
  return run
}

function readLines({ process: child, tail }: Run, options: ChildOptions, onReady: () => void) {
  const { name, ready, log } = options
  for (const input of [child.stdout, child.stderr]) {
    if (!input) continue // it could not be started
    createInterface({ input }).on('line', (line) => {
      tail.push(line)
      if (tail.length > TAIL_LINES) tail.shift()
      log.debug({ child: name }, line)
      if ('line' in ready && ready.line.test(line)) onReady()
    })
  }
}

function whenGone(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${error.message}`))
    child.once('exit', (code, by) => {
      const how = by ? `was ended by ${by}` : `exited with ${code}`
      const late = setTimeout(() => resolve(how), LAST_WORDS_MS)
      child.once('close', () => {
        clearTimeout(late)
        resolve(how)
      })
    })
  })
}

async function becomeReady(run: Run, options: ChildOptions): Promise<void> {
  const { name, ready, readyWithinMs = READY_WITHIN_MS } = options
  const over = new AbortController()
  const { signal } = over
  try {
    const failure = await Promise.race([
      run.gone,
      'line' in ready ? run.sawLine : answersYes(ready.probe, signal),
      sleep(readyWithinMs, `was not ready within ${readyWithinMs} ms`, { signal }),
    ])
    if (failure === undefined) run.readyAt = performance.now()
    else
      throw new AppError(
        'unavailable',
        `${name}.not_ready`,
        [`${name} ${failure}`, ...run.tail].join('\n'),
      )
  } finally {
    over.abort()
  }
}

async function answersYes(probe: () => Promise<boolean>, signal: AbortSignal): Promise<undefined> {
  while (!(await probe().catch(() => false))) {
    await sleep(PROBE_EVERY_MS, undefined, { signal })
  }
}

/** A restarted child that does not become ready is killed, which leads to the next restart. */
async function returnOrKill(run: Run, options: ChildOptions): Promise<void> {
  try {
    await becomeReady(run, options)
    options.log.info({ child: options.name }, `${options.name} is back`)
  } catch {
    send(run, 'SIGKILL')
  }
}

async function end(run: Run, { stopSignal, stopWithinMs = STOP_WITHIN_MS }: ChildOptions) {
  send(run, stopSignal)
  const late = setTimeout(() => send(run, 'SIGKILL'), stopWithinMs)
  await run.gone
  clearTimeout(late)
}

function lives({ process: child }: Run): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null
}

function send(run: Run, name: NodeJS.Signals) {
  const { pid } = run.process
  if (pid === undefined || !lives(run)) return
  try {
    process.kill(name === 'SIGKILL' ? -pid : pid, name) // killed with all that it started
  } catch {
    // it ended in the meantime
  }
}
