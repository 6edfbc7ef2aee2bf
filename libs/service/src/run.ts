import { createLog } from './log.ts'

/** How long work in hand may take at the end. */
const STOP_MS = 15_000

/** A part that runs until it is closed. */
export interface Running extends AsyncDisposable {
  /** Where it answers, such as http://127.0.0.1:4000. */
  url: string
}

/**
 * Runs one part as this process: until SIGINT or SIGTERM, then closes it, finishing work in hand.
 * A fault at start or an error that nobody caught is logged and ends the process with 1.
 */
export async function runProcess(name: string, start: () => Promise<Running>) {
  const log = createLog(name, { format: 'json' })
  const die = (error: unknown) => {
    log.fatal({ err: error }, 'Stopping: an error that nobody caught')
    process.exit(1)
  }
  process.on('uncaughtException', die).on('unhandledRejection', die)
  const running = await start().catch((error: Error) => {
    log.fatal({ err: error }, error.message)
    process.exit(1)
  })
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
