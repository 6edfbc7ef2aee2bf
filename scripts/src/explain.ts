import { SettingsError } from '@guildhall/service/config'
import { AppError, isDatabaseAway } from '@guildhall/service/errors'

/** What the system says of a server that does not answer, or of an address that is taken. */
const OF_THE_SYSTEM = ['EADDRINUSE', 'ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'ETIMEDOUT']

/** True for a fault that a person can mend, and whose own words tell them how. */
export function isPlain(error: unknown): boolean {
  const { code = '' } = error as { code?: string }
  if (error instanceof SettingsError || error instanceof AppError) return true
  return OF_THE_SYSTEM.includes(code) || isDatabaseAway(error)
}

/** Ends the process with 1 on whatever nobody caught: a plain fault is told in its own words, any other with its stack. */
export function explainFaults() {
  process.on('uncaughtException', explain).on('unhandledRejection', explain)
}

function explain(error: unknown): never {
  const { message, stack = error } = error as Error
  process.stderr.write(`${isPlain(error) ? message : stack}\n`)
  process.exit(1)
}
