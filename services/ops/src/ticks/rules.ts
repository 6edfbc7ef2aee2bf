import type { Job } from '@guildhall/contracts/job'
import { Cron } from 'croner'

/** The newest time up to `now` at which the job was due, or nothing where it runs only on request. */
export function lastDue({ cron }: Job, now: Date): Date | undefined {
  if (!cron) return undefined
  const [due] = patternOf(cron).previousRuns(1, new Date(now.getTime() + 1))
  return due
}

const patterns = new Map<string, Cron>()

/** Each is parsed once. */
function patternOf(cron: string) {
  const pattern = patterns.get(cron) ?? new Cron(cron, { timezone: 'UTC' })
  patterns.set(cron, pattern)
  return pattern
}
