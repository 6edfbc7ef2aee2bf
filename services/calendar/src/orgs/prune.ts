import type { Db } from '../db.ts'

const DAY_MS = 86_400_000
/** How long what became of a sync is kept. */
const RUNS_DAYS = 90

export async function pruneRuns(db: Db, now: Date): Promise<void> {
  const before = new Date(now.getTime() - RUNS_DAYS * DAY_MS)
  await db.deleteFrom('runs').where('finished_at', '<', before).execute()
}
