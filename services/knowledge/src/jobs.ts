import { handles, type JobContext, pruneBus } from '@guildhall/bus/jobs'
import { indexPending } from '@guildhall/contracts/knowledge'
import { pruneJobs } from '@guildhall/contracts/ops'
import { sql } from 'kysely'
import type { Deps } from './deps.ts'
import { indexVersion, removeRows } from './sources/indexing.ts'

/** A write in hand is given this long before the job takes it over. */
const GRACE_SECONDS = 30
const BATCH = 100

/** What knowledge runs. */
export const jobHandlers = (deps: Deps) => [
  handles(indexPending, (_args, context) => finishIndexing(deps, context)),
  handles(pruneJobs.knowledge, async () => {
    await pruneBus(deps.db)
    await deps.index.upkeep()
  }),
]

/** Finishes what was interrupted: versions that the index lacks, and rows that should have left it. */
export async function finishIndexing(
  deps: Deps,
  { signal }: Pick<JobContext, 'signal'>,
  graceSeconds = GRACE_SECONDS,
) {
  const { db } = deps
  const before = sql<Date>`now() - make_interval(secs => ${graceSeconds})`
  const pending = await db
    .selectFrom('versions')
    .select('id')
    .where('indexed', '=', false)
    .where('fetched_at', '<', before)
    .orderBy('id')
    .limit(BATCH)
    .execute()
  for (const { id } of pending) {
    if (!signal.aborted) await indexVersion(deps, id)
  }
  const removals = await db
    .selectFrom('index_removals')
    .select(['org_id', 'version_id'])
    .where('created_at', '<', before)
    .limit(BATCH)
    .execute()
  for (const [org, rows] of Map.groupBy(removals, ({ org_id }) => org_id)) {
    await removeRows(
      deps,
      org,
      rows.map(({ version_id }) => version_id),
    )
  }
  return { indexed: pending.length, removed: removals.length }
}
