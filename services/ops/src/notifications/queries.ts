import { sql } from 'kysely'
import type { Db, Trx } from '../db.ts'

export const resolvedOf = (db: Db, orgId: number) =>
  db
    .selectFrom('resolved_notifications')
    .select(['id', 'resolved_at', 'resolved_by'])
    .where('org_id', '=', orgId)
    .orderBy('id')
    .execute()

/** Notes who has seen to them first, and answers how many nobody had. */
export async function insertResolved(
  trx: Trx,
  rows: { org_id: number; id: string; resolved_at: Date; resolved_by: string }[],
): Promise<number> {
  if (rows.length === 0) return 0
  const added = await trx
    .insertInto('resolved_notifications')
    .values(rows)
    .onConflict((on) => on.doNothing())
    .returning('id')
    .execute()
  return added.length
}

/** The orgs whose officers have seen to something. */
export async function orgsWithResolved(db: Db): Promise<number[]> {
  const rows = await db.selectFrom('resolved_notifications').select('org_id').distinct().execute()
  return rows.map(({ org_id }) => org_id)
}

/** Forgets what was resolved before an instant and is not among those that are still told of. */
export async function deleteMended(
  db: Db,
  { org_id, told, before }: { org_id: number; told: string[]; before: Date },
) {
  await db
    .deleteFrom('resolved_notifications')
    .where('org_id', '=', org_id)
    .where('resolved_at', '<', before)
    .where(sql<boolean>`id <> all(${told}::text[])`)
    .execute()
}

export async function deleteResolved(trx: Trx, orgId: number, ids: string[]): Promise<number> {
  const removed = await trx
    .deleteFrom('resolved_notifications')
    .where('org_id', '=', orgId)
    .where('id', 'in', ids)
    .returning('id')
    .execute()
  return removed.length
}

/** Forgets what officers resolved and the repositories they listed. */
export async function deleteDashboardOf(db: Db, orgId: number) {
  await db.deleteFrom('resolved_notifications').where('org_id', '=', orgId).execute()
  await db.deleteFrom('ci_repos').where('org_id', '=', orgId).execute()
}
