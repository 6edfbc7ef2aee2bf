import { sql } from 'kysely'
import type { Db } from '../db.ts'

const TABLES = ['ledger', 'orders', 'products', 'imports', 'memberships'] as const

/** Deletes all that the store keeps of an org, and people who are in no other. May be repeated. */
export async function purgeOrg(db: Db, orgId: number): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const gone = await trx
      .selectFrom('memberships')
      .select('person')
      .where('org_id', '=', orgId)
      .execute()
    for (const table of TABLES) await trx.deleteFrom(table).where('org_id', '=', orgId).execute()
    const people = gone.map(({ person }) => person)
    await sql`
      delete from people where id = any(${people}::uuid[])
      and not exists (select from memberships where person = people.id)
    `.execute(trx)
  })
}
