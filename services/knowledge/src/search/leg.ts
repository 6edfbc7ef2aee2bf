import { AppError } from '@guildhall/service/errors'
import type { Log } from '@guildhall/service/log'

/** How long a search waits for a part of it, and for one that was slow the last times. */
const PATIENT_MS = 5_000
const IMPATIENT_MS = 500
/** So many failures in a row are the part's; fewer may come of what was asked of it. */
const IN_A_ROW = 3
/** A failure that takes a smaller share of the wait slows no search down, so the wait need not be cut. */
const SLOW_SHARE = 0.5
/** A part that comes and goes is not told more often. */
const TELL_AGAIN_MS = 5 * 60_000

interface LegOptions {
  log: Log
  /** As in "The … fails". */
  name: string
  /** What searches do meanwhile, as in "The … fails; …". */
  meanwhile: string
  /** Whose part it is; nothing where all share it. */
  org?: number
  /** The long wait, where it is another. */
  patientMs?: number
  /** For tests. */
  impatientMs?: number
  tellAgainMs?: number
}

export type Leg = ReturnType<typeof createLeg>

/**
 * A part that a search can do without for a while. When it failed several times in a row, that is an error of the log, once
 * until it works again; and where these took long, searches wait for it only briefly, so that a server that hangs does not
 * slow each of them down. What it says of one question (`isMiss`) is no failure: who asks such must not spoil it for others.
 */
export function createLeg({
  log,
  name,
  meanwhile,
  org,
  patientMs = PATIENT_MS,
  impatientMs = IMPATIENT_MS,
  tellAgainMs = TELL_AGAIN_MS,
}: LegOptions) {
  const of = { org: org ?? null } // not of the org whose search met it
  const tell = seldom(tellAgainMs)
  const tellMiss = seldom(tellAgainMs)
  let failures = 0
  let slow = 0
  let since = new Date()
  let last: AppError | undefined
  let told = false

  function works() {
    if (told) log.info(of, `The ${name} works again`)
    failures = 0
    slow = 0
    told = false
  }

  function fails(error: AppError, tookMs: number) {
    if (failures === 0) since = new Date()
    failures += 1
    if (tookMs >= patientMs * SLOW_SHARE) slow += 1
    last = error
    if (failures < IN_A_ROW || told) return
    told = tell(() => log.error({ err: error, ...of }, `The ${name} fails; ${meanwhile}`))
  }

  const missed = (error: AppError) =>
    tellMiss(() => log.warn({ err: error, ...of }, `The ${name} refuses a question; ${meanwhile}`))

  return {
    /** Nothing where the work is refused or takes too long; what nobody foresaw is thrown. */
    async run<Found>(
      work: () => Promise<Found>,
      isMiss: (error: AppError) => boolean = () => false,
    ): Promise<Found | undefined> {
      const patience = slow >= IN_A_ROW ? impatientMs : patientMs
      const began = performance.now()
      const working = work().then((found) => {
        // after a search gave it up, too: else what takes longer than the short wait would never count as well again
        if (performance.now() - began <= patientMs) works()
        return found
      })
      try {
        return await within(patience, working, name)
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        if (isMiss(error)) missed(error)
        else fails(error, performance.now() - began)
        return undefined
      }
    },
    /** Since when it fails and why; nothing while it works. */
    failure: () =>
      failures >= IN_A_ROW
        ? `the ${name} fails since ${since.toISOString()}: ${last?.message}`
        : undefined,
  }
}

/** Does what it is given unless it did so within `ms`, and says whether. */
function seldom(ms: number) {
  let doneAt = Number.NEGATIVE_INFINITY
  return (act: () => void): boolean => {
    if (performance.now() - doneAt < ms) return false
    doneAt = performance.now()
    act()
    return true
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
