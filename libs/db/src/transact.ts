import { setTimeout as wait } from 'node:timers/promises'
import type { Db, Trx } from './open.ts'

/** SQLSTATE codes of what Postgres undid so that another transaction could go on: it may simply run again. */
const UNDONE = ['40P01', '40001'] // deadlock_detected, serialization_failure
const RETRIES = 3
const LONGEST_WAIT_MS = 50

/**
 * Runs `work` in a transaction, and again where Postgres undid it for another's sake. Locks taken in one order
 * make that rare; what is undone has written nothing. `work` may so run more than once.
 */
export async function transact<T, A>(db: Db<T>, work: (trx: Trx<T>) => Promise<A>): Promise<A> {
  for (let retries = 0; ; retries++) {
    try {
      return await db.transaction().execute(work)
    } catch (error) {
      const { code = '' } = error as { code?: string }
      if (retries === RETRIES || !UNDONE.includes(code)) throw error
    }
    await wait(Math.random() * LONGEST_WAIT_MS * 2 ** retries) // apart from each other
  }
}
