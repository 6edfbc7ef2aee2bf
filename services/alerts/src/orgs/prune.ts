import { HISTORY_ROWS } from '@guildhall/contracts/alerts'
import { sql } from 'kysely'
import type { Db } from '../db.ts'

/** How long an item is remembered after its list held it last (decisions.md § 7). */
const KEEP_DAYS = 90
/** Rows of one statement. */
const BATCH = 1_000

/** Deletes items that no list has held for so long, and all but the last runs of each feed. Answers how many. */
export async function prune(db: Db, now: Date) {
  const old = new Date(now.getTime() - KEEP_DAYS * 86_400_000)
  const items = await inBatches(() =>
    sql`delete from items where id in (
      select id from items where listed_at < ${old} and claim_id is null
      limit ${BATCH} for update skip locked)`.execute(db),
  )
  const runs = await inBatches(() =>
    sql`delete from alert_runs where id in (
      select id from (select id, row_number() over (partition by feed_id order by id desc) as place
        from alert_runs) as numbered
      where place > ${HISTORY_ROWS} limit ${BATCH})`.execute(db),
  )
  return { items, runs }
}

async function inBatches(
  remove: () => Promise<{ numAffectedRows?: bigint | undefined }>,
): Promise<number> {
  let removed = 0
  let batch: number
  do {
    batch = Number((await remove()).numAffectedRows ?? 0n)
    removed += batch
  } while (batch > 0)
  return removed
}

/** Deletes all that alerts keeps of an org. May be repeated. */
export async function purgeOrg(db: Db, orgId: number): Promise<void> {
  const ids = db.selectFrom('feeds').select('id').where('org_id', '=', orgId)
  await inBatches(() =>
    sql`delete from items where id in (
      select id from items where feed_id in (${ids}) limit ${BATCH})`.execute(db),
  )
  await db.deleteFrom('feeds').where('org_id', '=', orgId).execute()
}
