import type { Db } from '../db.ts'
import { prunePosts } from '../posts/queries.ts'
import { endLost } from '../sync/queries.ts'

const DAY_MS = 86_400_000
/** How long what became of a sync, and of a post, is kept. */
const RUNS_DAYS = 90

/** Ends what nothing ends any more, and deletes what is old. */
export async function pruneRuns(db: Db, now: Date): Promise<void> {
  await endLost(db, now)
  const before = new Date(now.getTime() - RUNS_DAYS * DAY_MS)
  await prunePosts(db, before)
  await db.deleteFrom('runs').where('finished_at', '<', before).execute()
}
