import {
  LONGEST_SESSION_HOURS,
  MOST_SESSIONS,
  type NewSession,
} from '@guildhall/contracts/pod-sessions'
import { AppError } from '@guildhall/service/errors'

const HOUR_MS = 3_600_000

/** Throws unless the session ends after it starts, is short enough and not over yet. */
export function checkSession({ start_at, stop_at }: NewSession, now: Date): void {
  const [start, stop] = [Date.parse(start_at), Date.parse(stop_at)]
  if (stop <= start) throw refuse('backwards', 'stop_at must be after start_at')
  if (stop - start > LONGEST_SESSION_HOURS * HOUR_MS)
    throw refuse('too_long', `A session lasts at most ${LONGEST_SESSION_HOURS} hours`)
  if (stop <= now.getTime()) throw refuse('past', 'stop_at lies in the past')
}

/** Throws where a pod has as many sessions to come as it may. */
export function checkCount(unfinished: number): void {
  if (unfinished < MOST_SESSIONS) return
  throw new AppError(
    'conflict',
    'session.too_many',
    `The pod has ${MOST_SESSIONS} sessions that are not over, the most there may be; remove one first`,
  )
}

const refuse = (reason: string, message: string) =>
  new AppError('invalid', `session.${reason}`, message)
