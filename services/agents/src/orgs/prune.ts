import { sql } from 'kysely'
import type { Deps } from '../deps.ts'

const DAY_MS = 86_400_000
/** How long a pending action is kept after its expiry (interface.md, Pending actions). */
const PENDING_DAYS = 1
/** Conversations of one statement: each may have thousands of messages. */
const BATCH = 200

/** Deletes conversations without an update for so long, memories that have expired and old pending actions. */
export async function prune({ db, config, now }: Deps, signal: AbortSignal) {
  const before = (days: number) => new Date(now().getTime() - days * DAY_MS)
  const old = before(config.AGENT_RETENTION_DAYS)
  let conversations = 0
  let batch: number
  do {
    const { numAffectedRows = 0n } = await sql`delete from conversations where id in
      (select id from conversations where updated_at < ${old} limit ${BATCH} for update skip locked)`.execute(
      db,
    )
    batch = Number(numAffectedRows)
    conversations += batch
    signal.throwIfAborted()
  } while (batch > 0)
  const memories = await db
    .deleteFrom('memories')
    .where('expires_at', '<=', now())
    .executeTakeFirst()
  const pending = await db
    .deleteFrom('pending_actions')
    .where('expires_at', '<', before(PENDING_DAYS))
    .executeTakeFirst()
  return {
    conversations,
    memories: Number(memories.numDeletedRows),
    pending: Number(pending.numDeletedRows),
  }
}
