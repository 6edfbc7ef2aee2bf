import { newId } from '@guildhall/service/id'
import { keepRenewed } from '@guildhall/service/keep-renewed'
import { sql } from 'kysely'
import type { Db, FeedRow, Trx } from '../db.ts'

/** Longer than a renewal that is late; one that ended with its process keeps the feed no longer. */
export const LEASE_SECONDS = 15
const RENEW_MS = 5_000
const UNTIL = sql<Date>`now() + make_interval(secs => ${LEASE_SECONDS})`

/** A feed that one run has. */
export type Lease = FeedRow & { lease_id: string }

/** The feed, for whoever gets it: nobody else runs it meanwhile. Nothing where somebody has it, or it is gone. */
export async function takeLease(db: Db, org_id: number, key: string): Promise<Lease | undefined> {
  const lease_id = newId()
  const row = await db
    .updateTable('feeds')
    .set({ lease_id, leased_until: UNTIL })
    .where('org_id', '=', org_id)
    .where('key', '=', key)
    .where((eb) =>
      eb.or([eb('leased_until', 'is', null), eb('leased_until', '<', sql<Date>`now()`)]),
    )
    .returningAll()
    .executeTakeFirst()
  return row && { ...row, lease_id }
}

/** Renews the lease until it is ended; aborts where somebody else has it by then. */
export const keepLease = (db: Db, { id, lease_id }: Lease) =>
  keepRenewed(RENEW_MS, async () => {
    const { numUpdatedRows } = await db
      .updateTable('feeds')
      .set({ leased_until: UNTIL })
      .where('id', '=', id)
      .where('lease_id', '=', lease_id)
      .executeTakeFirst()
    return numUpdatedRows > 0n
  })

export type Ending = Partial<
  Pick<FeedRow, 'last_run_at' | 'last_error' | 'seeded_at' | 'seeded_sources'>
>

/** Ends the lease with what is to be kept. False if it was lost, or the feed deleted. */
export async function endLease(
  trx: Trx,
  { id, lease_id }: Lease,
  ending: Ending,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('feeds')
    .set({ ...ending, lease_id: null, leased_until: null })
    .where('id', '=', id)
    .where('lease_id', '=', lease_id)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Locks the feed. False where the lease is no longer this one: the transaction must write nothing. */
export async function lockLeased(trx: Trx, { id, lease_id }: Lease): Promise<boolean> {
  const row = await trx
    .selectFrom('feeds')
    .select('id')
    .where('id', '=', id)
    .where('lease_id', '=', lease_id)
    .forUpdate()
    .executeTakeFirst()
  return row !== undefined
}
