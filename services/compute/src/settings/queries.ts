import type { Db, Trx } from '../db.ts'

/** The org's own default image, or null. */
export async function podImageOf(db: Db, orgId: number): Promise<string | null> {
  const row = await db
    .selectFrom('settings')
    .select('pod_image')
    .where('org_id', '=', orgId)
    .executeTakeFirst()
  return row?.pod_image ?? null
}

export async function setPodImage(trx: Trx, org_id: number, pod_image: string | null) {
  await trx
    .insertInto('settings')
    .values({ org_id, pod_image })
    .onConflict((on) => on.column('org_id').doUpdateSet({ pod_image }))
    .execute()
}
