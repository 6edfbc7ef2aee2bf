import { sql } from 'kysely'
import type { Deps } from '../deps.ts'
import { deleteInBatches } from './purge.ts'

const DAY_MS = 86_400_000
/** How long a pending action is kept after its expiry (interface.md, Pending actions). */
const PENDING_DAYS = 1

/** Deletes conversations without an update for so long, memories that have expired and old pending actions. */
export async function prune({ db, config, now }: Deps) {
  const before = (days: number) => new Date(now().getTime() - days * DAY_MS)
  const old = before(config.AGENT_RETENTION_DAYS)
  return {
    conversations: await deleteInBatches(db, 'conversations', sql`updated_at < ${old}`),
    memories: await deleteInBatches(db, 'memories', sql`expires_at <= ${now()}`),
    pending: await deleteInBatches(
      db,
      'pending_actions',
      sql`expires_at < ${before(PENDING_DAYS)}`,
    ),
  }
}
