import type { Db, Trx } from '../db.ts'

export async function ciRepos(db: Db, orgId: number): Promise<string[]> {
  const row = await db
    .selectFrom('ci_repos')
    .select('repos')
    .where('org_id', '=', orgId)
    .executeTakeFirst()
  return row?.repos ?? []
}

export async function saveCiRepos(trx: Trx, orgId: number, repos: string[]) {
  await trx
    .insertInto('ci_repos')
    .values({ org_id: orgId, repos })
    .onConflict((on) => on.column('org_id').doUpdateSet({ repos }))
    .execute()
}
