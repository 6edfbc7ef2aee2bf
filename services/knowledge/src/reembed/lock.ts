import { setTimeout as wait } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import type { Db, Tables } from '../db.ts'

const RETRY_MS = 500
/** One that has still not ended by then has not looked for the last time what is left to do. */
const WAIT_MS = 2_000

/**
 * Runs work of which an org may have one at a time, across all processes; nothing while another goes on. Should Postgres lose
 * the lock on the way, two may run at once, so the work must bear that. Throws what `signal` was aborted with.
 */
export function oneOfOrg<Result>(
  db: Db,
  orgId: number,
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  return db.connection().execute(async (connection) => {
    const began = performance.now()
    while (!(await tryLock(connection, orgId))) {
      if (performance.now() - began > WAIT_MS) return undefined
      await wait(RETRY_MS, undefined, { signal })
    }
    try {
      return await work()
    } finally {
      // the lock goes with the connection if this fails
      await sql`select pg_advisory_unlock(hashtext('knowledge-reembed'), ${orgId}::int)`
        .execute(connection)
        .catch(() => undefined)
    }
  })
}

async function tryLock(connection: Kysely<Tables>, orgId: number): Promise<boolean> {
  const { rows } = await sql<{ held: boolean }>`
    select pg_try_advisory_lock(hashtext('knowledge-reembed'), ${orgId}::int) as held`.execute(
    connection,
  )
  return rows[0]?.held === true
}
