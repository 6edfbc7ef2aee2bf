import { setTimeout as wait } from 'node:timers/promises'
import { createLog } from './log.ts'

/** How long work in hand may take at the end. */
const STOP_MS = 15_000
/** How long a process that ends with a fault waits for the line of it to be sent. */
const LAST_WORDS_MS = 3_000

/** A part that runs until it is closed. */
export interface Running extends AsyncDisposable {
  /** Where it answers, such as http://127.0.0.1:4000. */
  url: string
}

/** Sends a line at error or above somewhere. It ends when the line is there; what it throws counts for nothing. */
export type LastWords = (line: string) => Promise<unknown>
const lastWords = new Map<string, LastWords>()

/** From now on `send` is given the lines by which the process `name` says why it ends. */
export function onLastWords(name: string, send: LastWords) {
  lastWords.set(name, send)
}

/**
 * Runs one part as this process: until SIGINT or SIGTERM, then closes it, finishing work in hand.
 * A fault at start or an error that nobody caught is logged, has a moment to be sent, and ends the process with 1.
 */
export async function runProcess(name: string, start: () => Promise<Running>) {
  const { log, said } = lastLog(name)
  let dying = false
  async function die(error: unknown, message: string): Promise<never> {
    log.fatal({ err: error }, message)
    if (dying) return new Promise(() => {}) // what goes wrong meanwhile makes it no longer
    dying = true
    await Promise.race([said(), wait(LAST_WORDS_MS)])
    process.exit(1)
  }
  const uncaught = (error: unknown) => void die(error, 'Stopping: an error that nobody caught')
  process.on('uncaughtException', uncaught).on('unhandledRejection', uncaught)
  const running = await start().catch((error: Error) => die(error, error.message))
  log.info({ url: running.url }, 'Started')
  let stopping = false
  const stop = async () => {
    if (stopping) process.exit(1) // asked twice: now
    stopping = true
    setTimeout(() => process.exit(1), STOP_MS).unref()
    await running[Symbol.asyncDispose]()
    log.info('Stopped')
    process.exit(0)
  }
  process.on('SIGINT', stop).on('SIGTERM', stop)
}

/** The log of the process itself, and what ends when its lines at error are sent. */
function lastLog(name: string) {
  const sending: (Promise<unknown> | undefined)[] = []
  const write = (line: string) => void sending.push(lastWords.get(name)?.(line))
  const log = createLog(name, { format: 'json', errors: { write } })
  return { log, said: () => Promise.allSettled(sending) }
}
