import type { Db } from '../db.ts'

const DAY_MS = 86_400_000
/** How long what is over is kept. */
const SESSIONS_DAYS = 90
const CERTIFICATES_DAYS = 400

/** Deletes sessions and records of certificates that ended long ago. */
export async function prunePods(db: Db, now: Date): Promise<void> {
  const before = (days: number) => new Date(now.getTime() - days * DAY_MS)
  await db
    .deleteFrom('sessions')
    .where('finished', '=', true)
    .where('stop_at', '<', before(SESSIONS_DAYS))
    .execute()
  await db
    .deleteFrom('certificates')
    .where('valid_before', '<', before(CERTIFICATES_DAYS))
    .execute()
}
