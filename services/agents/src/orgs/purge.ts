import { type RawBuilder, sql } from 'kysely'
import type { Db, Owner, Trx } from '../db.ts'

/** Messages go with their conversations, relations with their nodes. */
const TABLES = ['conversations', 'memories', 'nodes', 'pending_actions'] as const

/** Rows of one statement: a conversation may have thousands of messages, and a statement has 30 seconds. */
const BATCH = 200

/** Deletes all that agents keep of an org, in steps, so that it is never too much at once. May be repeated. */
export async function purgeOrg(db: Db, orgId: number): Promise<void> {
  for (const table of TABLES) {
    await deleteInBatches(db, table, sql<boolean>`org_id = ${orgId}`)
    await db.deleteFrom(table).where('org_id', '=', orgId).execute() // what was in use
  }
}

/** Deletes the rows that fit `which`, each batch on its own; answers how many. Rows in use are left out. */
export async function deleteInBatches(
  db: Db,
  table: (typeof TABLES)[number],
  which: RawBuilder<boolean>,
): Promise<number> {
  let deleted = 0
  let batch: number
  do {
    const { numAffectedRows = 0n } = await sql`delete from ${sql.table(table)} where id in
      (select id from ${sql.table(table)} where ${which} limit ${BATCH} for update skip locked)`.execute(
      db,
    )
    batch = Number(numAffectedRows)
    deleted += batch
  } while (batch > 0)
  return deleted
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
