import { setTimeout as wait } from 'node:timers/promises'
import { openDb } from '@guildhall/db/open'
import type { Log } from '@guildhall/service/log'
import { sql } from 'kysely'

const RETRY_MS = 500
/** Below the ten seconds after which a pool closes a connection that is not used. */
const BEAT_MS = 2_000
const SAY_AFTER_MS = 10_000
const SAY_AGAIN_MS = 60_000

export interface IndexLock extends AsyncDisposable {
  /** Watches over the lock until `signal` aborts. Throws if another process took it while Postgres was away. */
  keep(signal: AbortSignal): Promise<void>
}

/**
 * Waits until this process alone may write the embedded index: a session lock in Postgres, so it ends with the
 * process however that ends. Says in the log why it waits.
 */
export async function takeIndexLock(
  { url, log }: { url: string; log: Log },
  sayAfterMs = SAY_AFTER_MS,
): Promise<IndexLock> {
  // never two queries at once, so the pool has one connection, and that one has the lock
  const db = openDb<object>({ url, schema: 'knowledge', log })
  const tryLock = async () => {
    const { rows } = await sql<{ held: boolean }>`
      select pg_try_advisory_lock(hashtext('guildhall'), hashtext('knowledge-index')) as held`.execute(
      db,
    )
    return rows[0]?.held === true
  }
  let sayAt = performance.now() + sayAfterMs
  while (!(await tryLock())) {
    if (performance.now() >= sayAt) {
      log.warn(
        'Another process of this database writes the embedded search index, which has one writer: stop that process. This one waits.',
      )
      sayAt = performance.now() + SAY_AGAIN_MS
    }
    await wait(RETRY_MS)
  }
  return {
    async keep(signal) {
      while (!signal.aborted) {
        await wait(BEAT_MS, undefined, { signal }).catch(() => {})
        // taken again where the connection was lost; without Postgres nothing is written to the index either
        const held = signal.aborted || (await tryLock().catch(() => undefined))
        if (held === false)
          throw new Error('Another process took over the search index while Postgres was away')
      }
    },
    [Symbol.asyncDispose]: () => db.destroy(),
  }
}
