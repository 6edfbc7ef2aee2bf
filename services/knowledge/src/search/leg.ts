import { AppError } from '@guildhall/service/errors'
import type { Log } from '@guildhall/service/log'

/** How long a search waits for a part of it that answered the last time, and for one that did not. */
const PATIENT_MS = 5_000
const IMPATIENT_MS = 500

interface LegOptions {
  log: Log
  /** As in "The … fails". */
  name: string
  /** What searches do meanwhile, as in "The … fails; …". */
  meanwhile: string
}

export type Leg = ReturnType<typeof createLeg>

/**
 * A part that a search can do without for a while. Its failure is an error of the log once, until it works again; from
 * the first failure on searches wait for it only briefly, so that a server that hangs does not slow each of them down.
 */
export function createLeg({ log, name, meanwhile }: LegOptions) {
  let failed: { error: AppError; since: Date } | undefined

  function works() {
    if (failed) log.info(`The ${name} works again`)
    failed = undefined
  }

  function fails(error: AppError) {
    if (!failed) log.error({ err: error }, `The ${name} fails; ${meanwhile}`)
    failed = { error, since: failed?.since ?? new Date() }
  }

  return {
    /** Nothing where the work is refused or takes too long; what nobody foresaw is thrown. */
    async run<Found>(work: () => Promise<Found>): Promise<Found | undefined> {
      const patience = failed ? IMPATIENT_MS : PATIENT_MS
      const began = performance.now()
      const working = work().then((found) => {
        // after a search gave it up, too: else what takes longer than the short wait would never count as well again
        if (performance.now() - began <= PATIENT_MS) works()
        return found
      })
      try {
        return await within(patience, working, name)
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        fails(error)
        return undefined
      }
    },
    /** Since when it fails and why; nothing while it works. */
    failure: () =>
      failed && `the ${name} fails since ${failed.since.toISOString()}: ${failed.error.message}`,
  }
}

async function within<Found>(ms: number, working: Promise<Found>, name: string): Promise<Found> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    const message = `The ${name} did not answer within ${ms} ms`
    late.reject(new AppError('unavailable', 'search.slow', message))
  }, ms)
  try {
    return await Promise.race([working, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
