import type { Db } from '../db.ts'

const TABLES = ['runs', 'assignments', 'settings', 'event_posts', 'post_settings'] as const

/** Deletes all that calendar keeps of an org. What stands in the org's calendar stays there. May be repeated. */
export async function purgeOrg(db: Db, orgId: number): Promise<void> {
  await db.transaction().execute(async (trx) => {
    for (const table of TABLES) await trx.deleteFrom(table).where('org_id', '=', orgId).execute()
  })
}
