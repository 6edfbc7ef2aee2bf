import { queueJob } from '@guildhall/bus/jobs'
import { runFeed } from '@guildhall/contracts/alerts'
import type { FeedRow } from '../db.ts'
import type { Deps } from '../deps.ts'
import { sweepClaims } from './claims.ts'
import { enabledFeeds } from './queries.ts'

const HOUR_MS = 3_600_000
/** The clock of the job strikes on the quarter, and a run begins a little later: it must not wait for the next quarter each time. */
const SLACK_MS = 5 * 60_000

type Scheduled = Pick<FeedRow, 'enabled' | 'every_hours' | 'last_run_at'>

/** Whether the feed is to be run by the schedule (interface.md, alerts.run_due). */
export function isDue({ enabled, every_hours, last_run_at }: Scheduled, now: Date): boolean {
  if (!enabled) return false
  if (last_run_at === null) return true
  return last_run_at.getTime() + every_hours * HOUR_MS - SLACK_MS <= now.getTime()
}

/** Queues the feeds that are due, and sees to posts that ended with their process. */
export async function runDue({ db, log, now }: Deps) {
  const uncertain = await sweepClaims(db)
  if (uncertain > 0)
    log.warn({ uncertain }, 'Alert posts ended with their process; their outcome is unknown')
  const due = (await enabledFeeds(db)).filter((feed) => isDue(feed, now()))
  await db.transaction().execute(async (trx) => {
    for (const { org_id, key } of due) await queueJob(trx, runFeed, { org_id, key, if_due: true })
  })
  return { queued: due.length, uncertain }
}
