import type { Job } from '@guildhall/contracts/job'
import { Cron } from 'croner'

/** The newest time up to `now` at which the job was due, or nothing where it runs only on request. */
export function lastDue({ cron }: Job, now: Date): Date | undefined {
  if (!cron) return undefined
  const [due] = new Cron(cron, { timezone: 'UTC' }).previousRuns(1, new Date(now.getTime() + 1))
  return due
}
