import type { PointsEntry } from '@guildhall/contracts/points'
import { violates } from '@guildhall/db/violations'
import { AppError } from '@guildhall/service/errors'
import { type Insertable, sql } from 'kysely'
import type { z } from 'zod'
import type { Db, Tables, Trx } from '../db.ts'

/** What officers gave, and may take back. */
export const GIVEN = ['award', 'csv', 'adjust'] as const

type NewEntry = Omit<Insertable<Tables['ledger']>, 'source_key' | 'order_id'> & {
  source_key?: string
  order_id?: number
}

/** Books points, and answers the entry. Throws a violation of `memberships_balance` below zero. */
export async function book(trx: Trx, entry: NewEntry): Promise<number> {
  const { id } = await trx
    .insertInto('ledger')
    .values({ source_key: null, order_id: null, ...entry })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** Says that points were to go which are not there. */
export function refuseBelowZero(error: unknown): never {
  if (!violates(error, 'memberships_balance')) throw error
  throw new AppError(
    'conflict',
    'points.insufficient',
    'A member has spent these points already, and no balance goes below zero; take away less, or cancel an order first',
    { cause: error },
  )
}

interface Page {
  before: string | undefined
  limit: number
}

/** Up to `limit` entries of a member before the one named, the newest first. */
export async function entriesOf(
  db: Db,
  membership: string,
  { before, limit }: Page,
): Promise<z.output<typeof PointsEntry>[]> {
  let query = db
    .selectFrom('ledger')
    .select(['id', 'points', 'kind', 'event', 'awarded_by', 'created_at'])
    .where('membership', '=', membership)
    .orderBy('id', 'desc')
    .limit(limit)
  if (before !== undefined) query = query.where('id', '<', Number(before))
  const rows = await query.execute()
  return rows.map(({ created_at, ...row }) => ({ ...row, timestamp: created_at.toISOString() }))
}

/** An event is the same however its letters are written, as in attendance files. */
const sameEvent = (event: string) => sql<boolean>`lower(event) = lower(${event})`

/**
 * Takes back what officers gave for an event, from all members or one: from those who have it when they are
 * locked, by id. Under `holdPeople`, so that none of them is joined with another in between.
 */
export async function deleteEvent(
  trx: Trx,
  { org_id, event, membership }: { org_id: number; event: string; membership: string | undefined },
): Promise<number> {
  let holders = trx
    .selectFrom('ledger')
    .select('membership')
    .where('org_id', '=', org_id)
    .where(sameEvent(event))
    .where('kind', 'in', GIVEN)
  if (membership !== undefined) holders = holders.where('membership', '=', membership)
  const locked = await trx
    .selectFrom('memberships')
    .select('id')
    .where('id', 'in', holders)
    .orderBy('id')
    .forNoKeyUpdate()
    .execute()
  const ids = locked.map(({ id }) => id)
  const { numDeletedRows } = await trx
    .deleteFrom('ledger')
    .where('org_id', '=', org_id)
    .where(sameEvent(event))
    .where('kind', 'in', GIVEN)
    .where('membership', '=', sql<string>`any(${ids}::uuid[])`)
    .executeTakeFirst()
  return Number(numDeletedRows)
}
