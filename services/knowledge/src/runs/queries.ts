import { newId } from '@guildhall/service/id'
import type { Db, Tables } from '../db.ts'

/** Runs that are kept of an org. */
const RUNS_KEPT = 500

/** Adds a line to the org's run log, and drops the oldest beyond those that are kept. */
export async function noteRun(db: Db, run: Omit<Tables['runs'], 'id'>) {
  await db
    .insertInto('runs')
    .values({ ...run, id: newId() })
    .execute()
  const oldestKept = db
    .selectFrom('runs')
    .select('id')
    .where('org_id', '=', run.org_id)
    .orderBy('id', 'desc')
    .limit(1)
    .offset(RUNS_KEPT - 1)
  await db
    .deleteFrom('runs')
    .where('org_id', '=', run.org_id)
    .where('id', '<', oldestKept)
    .execute()
}
