import { type Kysely, type RawBuilder, sql } from 'kysely'

/** Few enough to be deleted well within the time that a statement has. */
const BATCH = 10_000n

/** Deletes the rows of a table that `old` names, a batch at a time, however many there are. */
export async function deleteOld<T>(db: Kysely<T>, table: string, old: RawBuilder<unknown>) {
  const from = sql.table(table)
  for (;;) {
    const { numAffectedRows = 0n } = await sql`
      delete from ${from} where ctid = any (array(select ctid from ${from} where ${old} limit ${BATCH}))`.execute(
      db,
    )
    if (numAffectedRows < BATCH) return
  }
}
