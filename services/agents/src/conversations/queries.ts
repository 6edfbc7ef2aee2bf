import type { Db, Owner, Trx } from '../db.ts'
import { checkHeld } from '../limits.ts'
import { taken } from './rules.ts'

interface Wanted {
  id: string
  channel_id: string
  visibility: 'public' | 'private'
}

/**
 * The conversation with this id, made if there is none. Throws `conversation.taken` where somebody else, or
 * another channel or visibility, holds the id; that may be in another org, so nothing more is said. Throws
 * `conversation.too_many` as `checkHeld` does. Call it under `lockOwner`.
 */
export async function openConversation(trx: Trx, owner: Owner, wanted: Wanted, now: Date) {
  const made = await trx
    .insertInto('conversations')
    .values({ ...wanted, ...owner, created_at: now, updated_at: now })
    .onConflict((on) => on.column('id').doNothing())
    .returning('state')
    .executeTakeFirst()
  if (made) {
    await checkHeld(trx, owner, 'conversations')
    return { state: made.state, made: true }
  }
  const held = await trx
    .selectFrom('conversations')
    .select('state')
    .where((where) => where.and({ ...wanted, ...owner }))
    .executeTakeFirst()
  if (!held) throw taken()
  return { state: held.state, made: false }
}

/** Whether the member holds the conversation, under this visibility if one is named. */
export async function isOwned(db: Db, owner: Owner, id: string, visibility?: Wanted['visibility']) {
  const row = await db
    .selectFrom('conversations')
    .select('id')
    .where((where) => where.and({ ...owner, id, ...(visibility && { visibility }) }))
    .executeTakeFirst()
  return row !== undefined
}

/** The member's open conversation of a channel with the latest update. */
export function latestOf(
  db: Db,
  owner: Owner,
  { channel_id, visibility }: { channel_id: string; visibility: Wanted['visibility'] | undefined },
) {
  return db
    .selectFrom('conversations')
    .select('id')
    .where((where) =>
      where.and({ ...owner, channel_id, state: 'open', ...(visibility && { visibility }) }),
    )
    .orderBy('updated_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** Ends the member's open conversations of a channel; answers how many. Call it under `lockOwner`. */
export async function endConversations(trx: Trx, owner: Owner, channel_id: string, now: Date) {
  const { numUpdatedRows } = await trx
    .updateTable('conversations')
    .set({ state: 'ended', updated_at: now })
    .where((where) => where.and({ ...owner, channel_id, state: 'open' }))
    .executeTakeFirst()
  return Number(numUpdatedRows)
}

/** True if there was one. */
export async function deleteConversation(trx: Trx, owner: Owner, id: string): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('conversations')
    .where((where) => where.and({ ...owner, id }))
    .executeTakeFirst()
  return numDeletedRows === 1n
}
