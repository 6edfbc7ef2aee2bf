import { newId } from '@guildhall/service/id'
import { keepRenewed } from '@guildhall/service/keep-renewed'
import { sql } from 'kysely'
import type { Db } from '../db.ts'

/** Shorter than what the broker waits before it gives a lost job to another process. */
const LEASE_SECONDS = 15
const RENEW_MS = 5_000
const UNTIL = sql<Date>`now() + make_interval(secs => ${LEASE_SECONDS})`

/** The run, for one process at a time; nothing where another has it or it is over. */
export async function takeLease(db: Db, runId: string) {
  const lease_id = newId()
  const row = await db
    .updateTable('runs')
    .set({ lease_id, leased_until: UNTIL })
    .where('id', '=', runId)
    .where('status', '=', 'started')
    .where((eb) =>
      eb.or([eb('leased_until', 'is', null), eb('leased_until', '<', sql<Date>`now()`)]),
    )
    .returning(['id', 'org_id', 'force'])
    .executeTakeFirst()
  return row && { ...row, lease_id }
}
export type Lease = NonNullable<Awaited<ReturnType<typeof takeLease>>>

/** Renews the lease until it is disposed of; aborts where another process has it by then. */
export const keepLease = (db: Db, { id, lease_id }: Lease) =>
  keepRenewed(RENEW_MS, async () => {
    const { numUpdatedRows } = await db
      .updateTable('runs')
      .set({ leased_until: UNTIL })
      .where('id', '=', id)
      .where('lease_id', '=', lease_id)
      .executeTakeFirst()
    return numUpdatedRows > 0n
  })

/** Lets the next attempt begin at once. */
export const giveBack = (db: Db, { id, lease_id }: Lease) =>
  db
    .updateTable('runs')
    .set({ lease_id: null, leased_until: null })
    .where('id', '=', id)
    .where('lease_id', '=', lease_id)
    .execute()
