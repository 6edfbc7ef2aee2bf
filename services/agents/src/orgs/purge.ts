import type { Db, Owner, Trx } from '../db.ts'

/** Messages go with their conversations, relations with their nodes. */
const TABLES = ['conversations', 'memories', 'nodes', 'pending_actions'] as const

/** Deletes all that agents keep of an org. May be repeated. */
export async function purgeOrg(db: Db, orgId: number): Promise<void> {
  await db.transaction().execute(async (trx) => {
    for (const table of TABLES) await trx.deleteFrom(table).where('org_id', '=', orgId).execute()
  })
}

/** Deletes all that is kept of a member, and answers how many rows; messages and relations do not count. */
export async function purgeMember(trx: Trx, owner: Owner): Promise<number> {
  let rows = 0
  for (const table of TABLES) {
    const { numDeletedRows } = await trx
      .deleteFrom(table)
      .where('org_id', '=', owner.org_id)
      .where('chat_user_id', '=', owner.chat_user_id)
      .executeTakeFirst()
    rows += Number(numDeletedRows)
  }
  return rows
}
