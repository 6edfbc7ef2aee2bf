import { checkout, placeMyOrder } from '@guildhall/contracts/store-orders'
import { transact } from '@guildhall/db/transact'
import { sql } from 'kysely'
import type { Db, Trx } from '../db.ts'

const TABLES = ['ledger', 'orders', 'products', 'imports', 'memberships'] as const
/** Their answers, kept for a day, say who bought. */
const ORDERING = [checkout, placeMyOrder].map(({ method, url }) => `${method} ${url}`)

/**
 * Deletes all that the store keeps of an org, and people who are in no other. May be repeated. Who is linked
 * stays, because auth tells of a link once: in another org they are to be one person still.
 */
export async function purgeOrg(db: Db, orgId: number): Promise<void> {
  await transact(db, async (trx) => {
    const members = await trx
      .selectFrom('memberships')
      .select('person')
      .where('org_id', '=', orgId)
      .orderBy('id')
      .forUpdate()
      .execute()
    await forgetCopies(trx, orgId)
    for (const table of TABLES) await trx.deleteFrom(table).where('org_id', '=', orgId).execute()
    const people = members.map(({ person }) => person)
    await sql`
      delete from people where id = any(${people}::uuid[])
      and (email is null or chat_user_id is null)
      and not exists (select from memberships where person = people.id)
    `.execute(trx)
  })
}

/** Names and emails that answers and files sent along hold outside of the org's own rows. */
async function forgetCopies(trx: Trx, orgId: number) {
  await sql`
    delete from idempotency_keys where route = any(${ORDERING})
    and (answer ->> 'id')::int in (select id from orders where org_id = ${orgId})
  `.execute(trx)
  await sql`
    update job_runs set args = '{}', result = null
    where id in (select id from imports where org_id = ${orgId})
  `.execute(trx)
}
