import type { PendingAction } from '@guildhall/contracts/agent-pending'
import { AppError } from '@guildhall/service/errors'
import type { Db, Owner, Trx } from '../db.ts'
import { checkHeld } from '../limits.ts'

/**
 * Holds actions. Throws `pending.taken` if one of the ids was used before, by whomever, and as `checkHeld` does. Call it
 * under `lockOwner`.
 */
export async function insertPending(
  trx: Trx,
  owner: Owner,
  actions: (PendingAction & { id: string })[],
  now: Date,
): Promise<{ id: string; expires_at: Date }[]> {
  const rows = actions.map(({ id, action, payload_hash, ttl_seconds }) => ({
    ...{ id, ...owner, action: JSON.stringify(action), payload_hash, created_at: now },
    ...{ expires_at: new Date(now.getTime() + ttl_seconds * 1000) },
    ...{ answered_at: null, approved: null },
  }))
  const held = await trx
    .insertInto('pending_actions')
    .values(rows)
    .onConflict((on) => on.column('id').doNothing())
    .returning('id')
    .execute()
  if (held.length < rows.length) throw taken()
  await checkHeld(trx, owner, 'pending_actions')
  return rows
}

/** Answers a held action: one conditional statement, so of many at once one gets it. */
export function answerPending(
  trx: Trx,
  owner: Owner,
  { id, approved, now }: { id: string; approved: boolean; now: Date },
) {
  return trx
    .updateTable('pending_actions')
    .set({ approved, answered_at: now })
    .where((where) => where.and({ ...owner, id }))
    .where('answered_at', 'is', null)
    .where('expires_at', '>', now)
    .returning(['action', 'payload_hash'])
    .executeTakeFirst()
}

/** The member's newest held, answered and expired actions. */
export function pendingOf(db: Db, owner: Owner, limit: number) {
  return db
    .selectFrom('pending_actions')
    .selectAll()
    .where((where) => where.and({ ...owner }))
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .limit(limit)
    .execute()
}

const taken = () =>
  new AppError('conflict', 'pending.taken', 'This pending id was used before; take a new one')
