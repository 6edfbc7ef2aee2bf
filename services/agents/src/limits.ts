import { AppError } from '@guildhall/service/errors'
import { sql } from 'kysely'
import type { Owner, Trx } from './db.ts'

/** Most rows that are held of one member: far more than talks need, and no agent fills the database alone. */
const MOST_HELD = {
  conversations: {
    most: 5_000,
    code: 'conversation.too_many',
    advice: 'ask the member to delete some, or go on in one of them',
  },
  memories: {
    most: 5_000,
    code: 'memory.too_many',
    advice: 'delete some, and let the next expire (expires_in_days)',
  },
  nodes: { most: 10_000, code: 'node.too_many', advice: 'delete some (profile/nodes)' },
  pending_actions: {
    most: 2_000,
    code: 'pending.too_many',
    advice: 'wait: each is deleted a day after its ttl_seconds',
  },
  relations: { most: 20_000, code: 'relation.too_many', advice: 'delete some (profile/relations)' },
} as const

/**
 * Throws 409 where more rows than the most are held of the member. Call it under `lockOwner`, after the insert;
 * what it throws undoes that.
 */
export async function checkHeld(trx: Trx, owner: Owner, table: keyof typeof MOST_HELD) {
  const { most, code, advice } = MOST_HELD[table]
  const { rows } = await sql<{ held: number }>`select count(*) as held from
    (select from ${sql.table(table)}
     where org_id = ${owner.org_id} and chat_user_id = ${owner.chat_user_id} limit ${most + 1}) as held`.execute(
    trx,
  )
  if ((rows[0]?.held ?? 0) <= most) return
  throw new AppError(
    'conflict',
    code,
    `At most ${most} ${table.replace('_', ' ')} are held of a member; ${advice}`,
  )
}
