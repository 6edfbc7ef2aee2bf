import { setTimeout as wait } from 'node:timers/promises'
import type { Log } from '@guildhall/service/log'
import { sql } from 'kysely'
import { openDb } from './open.ts'

const RETRY_MS = 500
/** Below the ten seconds after which a pool closes a connection that is not used. */
const BEAT_MS = 2_000
const SAY_AFTER_MS = 10_000
const SAY_AGAIN_MS = 60_000

export interface OnlyOne extends AsyncDisposable {
  /** Watches over the lock until `signal` aborts. Throws if another process took it while Postgres was away. */
  keep(signal: AbortSignal): Promise<void>
}

interface Work {
  url: string
  schema: string
  log: Log
  /** Of the lock. */
  name: string
  /** Said while another process has it. */
  waiting: string
  /** Thrown where another process took it. */
  taken: string
}

/**
 * Waits until this process alone may do something: a session lock in Postgres, so it ends with the process however that
 * ends. Says in the log why it waits.
 */
export async function onlyOne(work: Work, sayAfterMs = SAY_AFTER_MS): Promise<OnlyOne> {
  const { url, schema, log, name, waiting, taken } = work
  // never two queries at once, so the pool has one connection, and that one has the lock
  const db = openDb<object>({ url, schema, log })
  const tryLock = async () => {
    const { rows } = await sql<{ held: boolean }>`
      select pg_try_advisory_lock(hashtext('guildhall'), hashtext(${name})) as held`.execute(db)
    return rows[0]?.held === true
  }
  let sayAt = performance.now() + sayAfterMs
  while (!(await tryLock())) {
    if (performance.now() >= sayAt) {
      log.warn(waiting)
      sayAt = performance.now() + SAY_AGAIN_MS
    }
    await wait(RETRY_MS)
  }
  return {
    async keep(ending) {
      while (!ending.aborted) {
        await wait(BEAT_MS, undefined, { signal: ending }).catch(() => {})
        // taken again where the connection was lost; without Postgres nobody else has it either
        const held = ending.aborted || (await tryLock().catch(() => undefined))
        if (held === false) throw new Error(taken)
      }
    },
    [Symbol.asyncDispose]: () => db.destroy(),
  }
}
