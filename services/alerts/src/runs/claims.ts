import { newId } from '@guildhall/service/id'
import { sql } from 'kysely'
import type { Db, Trx } from '../db.ts'
import type { Lease } from './leases.ts'

/** How long one may be at an item; a request takes far less (decisions.md § 7). */
const CLAIM_SECONDS = 120
const UNTIL = sql<Date>`now() + make_interval(secs => ${CLAIM_SECONDS})`
/** What is said of an item whose post nobody saw the end of. */
export const CUT_OFF =
  'The process ended while it was posted: it may or may not stand in the channel. Look there, and retry it if it is missing'

export type Claim = NonNullable<Awaited<ReturnType<typeof claimNext>>>

/** The next item to go out but for `except`, for whoever gets it; nothing where there is none, or the lease is lost. */
export async function claimNext(db: Db, { id, lease_id }: Lease, except: readonly string[]) {
  const claim_id = newId()
  return db
    .updateTable('items')
    .set({ state: 'claimed', claim_id, claimed_until: UNTIL })
    .where('id', '=', (eb) =>
      eb
        .selectFrom('items')
        .innerJoin('feeds', 'feeds.id', 'feed_id')
        .select('items.id')
        .where('feed_id', '=', id)
        .where('lease_id', '=', lease_id)
        .where('state', '=', 'new')
        .where('items.id', '!=', sql<string>`all(${except}::uuid[])`)
        .orderBy('refusals')
        .orderBy('seq')
        .limit(1)
        .forUpdate('items')
        .skipLocked(),
    )
    .where('state', '=', 'new')
    .returning(['id', 'feed_id', 'embed', 'claim_id'])
    .executeTakeFirst()
}

/** Committed just before the request: from here on the item is never posted again by itself. False where the claim does not hold. */
export async function beginPost(db: Db, claim: Claim, lease: Lease): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('items')
    .set({ state: 'posting', claimed_until: UNTIL })
    .where('id', '=', claim.id)
    .where('claim_id', '=', claim.claim_id)
    .where('state', '=', 'claimed')
    .where('claimed_until', '>', sql<Date>`now()`)
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('feeds')
          .select('id')
          .where('id', '=', lease.id)
          .where('lease_id', '=', lease.lease_id),
      ),
    )
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

interface End {
  state: 'posted' | 'new' | 'uncertain'
  error: string | null
  /** It was refused: others go first in the next run. */
  refused?: boolean
}

/** Writes what became of the item, if it is still this claim's. */
export function endClaim(db: Db, claim: Claim, { state, error, refused = false }: End) {
  return db.transaction().execute(async (trx) => {
    const { numUpdatedRows } = await trx
      .updateTable('items')
      .set({ state, error, claim_id: null, claimed_until: null })
      .set((eb) => ({ refusals: eb('refusals', '+', refused ? 1 : 0) }))
      .where('id', '=', claim.id)
      .where('claim_id', '=', claim.claim_id)
      .executeTakeFirst()
    if (numUpdatedRows > 0n && state === 'posted') await countPosted(trx, claim.feed_id)
  })
}

const countPosted = (trx: Trx, feedId: string) =>
  trx
    .updateTable('feeds')
    .set((eb) => ({ posted: eb('posted', '+', 1) }))
    .where('id', '=', feedId)
    .execute()

/** Sees to items whose process ended: claimed ones are new again; of posts nobody knows the outcome. Answers how many are uncertain. */
export async function sweepClaims(db: Db): Promise<number> {
  const none = { claim_id: null, claimed_until: null }
  await db
    .updateTable('items')
    .set({ state: 'new', ...none })
    .where('state', '=', 'claimed')
    .where('claimed_until', '<', sql<Date>`now()`)
    .execute()
  const { numUpdatedRows } = await db
    .updateTable('items')
    .set({ state: 'uncertain', error: CUT_OFF, ...none })
    .where('state', '=', 'posting')
    .where('claimed_until', '<', sql<Date>`now()`)
    .executeTakeFirst()
  return Number(numUpdatedRows)
}
