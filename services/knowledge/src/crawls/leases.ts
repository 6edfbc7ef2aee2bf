import { newId } from '@guildhall/service/id'
import { keepRenewed } from '@guildhall/service/keep-renewed'
import { sql } from 'kysely'
import type { Db, Trx } from '../db.ts'

/** Longer than a renewal that is late; one that ended with its process keeps the source no longer. */
const LEASE_SECONDS = 15
const RENEW_MS = 5_000

export type Lease = NonNullable<Awaited<ReturnType<typeof takeLease>>>
const UNTIL = sql<Date>`now() + make_interval(secs => ${LEASE_SECONDS})`

/**
 * The crawl, for whoever gets it: nobody else crawls that source meanwhile. Nothing where somebody has it, it is gone, or, with
 * `dueAt`, it is not due by then any more.
 */
export async function takeLease(db: Db, sourceId: string, now: Date, dueAt?: Date) {
  const lease_id = newId()
  let taking = db
    .updateTable('crawls')
    .set({ lease_id, leased_until: UNTIL, last_attempt_at: now })
    .from('sources')
    .whereRef('sources.id', '=', 'source_id')
    .where('source_id', '=', sourceId)
    .where((eb) =>
      eb.or([eb('leased_until', 'is', null), eb('leased_until', '<', sql<Date>`now()`)]),
    )
  if (dueAt) taking = taking.where('enabled', '=', true).where('due_at', '<=', dueAt)
  const row = await taking
    .returning(['source_id', 'key', 'category', 'url', 'public', 'crawls.title', 'failures'])
    .returning(['fetch_every_hours', 'page_hash', 'page_chars', 'fetched_url', 'etag'])
    .returning(['last_modified', 'current_version_id'])
    .executeTakeFirst()
  return row && { ...row, lease_id }
}

/** Renews the lease until it is ended; aborts where somebody else has it by then. */
export const keepLease = (db: Db, { source_id, lease_id }: Lease) =>
  keepRenewed(RENEW_MS, async () => {
    const { numUpdatedRows } = await db
      .updateTable('crawls')
      .set({ leased_until: UNTIL })
      .where('source_id', '=', source_id)
      .where('lease_id', '=', lease_id)
      .executeTakeFirst()
    return numUpdatedRows > 0n
  })

export interface Ending {
  due_at?: Date
  last_error?: string | null
  failures?: number
  page_hash?: string
  page_chars?: number
  fetched_url?: string | null
  etag?: string | null
  last_modified?: string | null
}

/** Ends the lease with what is to be kept. False if it was lost: the source was deleted, defined anew, or is crawled by another. */
export async function endLease(trx: Trx, lease: Lease, ending: Ending): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('crawls')
    .set({ ...ending, lease_id: null, leased_until: null })
    .where('source_id', '=', lease.source_id)
    .where('lease_id', '=', lease.lease_id)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
