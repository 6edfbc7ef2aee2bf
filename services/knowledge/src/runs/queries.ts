import type { KnowledgeRun } from '@guildhall/contracts/knowledge-settings'
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

/** Up to `limit` runs older than the one with the id `before`, newest first. */
export async function runsOfOrg(
  db: Db,
  { org_id, failed }: { org_id: number; failed: boolean },
  { before, limit }: { before: string | undefined; limit: number },
): Promise<KnowledgeRun[]> {
  let query = db
    .selectFrom('runs')
    .select(['id', 'source_key', 'kind', 'started_at', 'duration_ms', 'changed', 'chunks', 'error'])
    .where('org_id', '=', org_id)
    .orderBy('id', 'desc')
    .limit(limit)
  if (failed) query = query.where('error', 'is not', null)
  if (before !== undefined) query = query.where('id', '<', before)
  const rows = await query.execute()
  return rows.map((row) => ({ ...row, started_at: row.started_at.toISOString() }))
}
