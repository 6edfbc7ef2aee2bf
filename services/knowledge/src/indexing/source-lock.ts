import { openDb } from '@guildhall/db/open'
import type { Log } from '@guildhall/service/log'
import { sql } from 'kysely'
import { takeIndexLock } from './lock.ts'

/** Runs work on a source while no other process works on it. */
export type SourceLock = <Result>(sourceId: string, work: () => Promise<Result>) => Promise<Result>

interface Opening {
  databaseUrl: string
  log: Log
  onClose(work: () => PromiseLike<unknown>): void
}

/**
 * How processes take turns: the embedded index has one, which this call waits to be; those that share an engine
 * take turns on each source. `keep` watches over that until its signal aborts.
 */
export async function takeTurns(
  { shared }: { shared: boolean },
  { databaseUrl: url, log, onClose }: Opening,
): Promise<{ alone: SourceLock; keep(signal: AbortSignal): Promise<void> }> {
  if (shared) {
    const locks = openSourceLocks({ url, log })
    onClose(() => locks.close())
    return { alone: locks.hold, keep: async () => {} }
  }
  const lock = await takeIndexLock({ url, log })
  onClose(() => lock[Symbol.asyncDispose]())
  return { alone: (_sourceId, work) => work(), keep: (signal) => lock.keep(signal) }
}

/**
 * Session locks in Postgres, which end with the process however that ends. They have connections of their own: work
 * under a lock needs one of the others, and would else wait for itself.
 */
export function openSourceLocks({ url, log }: { url: string; log: Log }) {
  const db = openDb<object>({ url, schema: 'knowledge', log })
  const hold: SourceLock = (sourceId, work) =>
    db.connection().execute(async (held) => {
      const key = sql`hashtext('knowledge-source'), hashtext(${sourceId})`
      await sql`select pg_advisory_lock(${key})`.execute(held)
      try {
        return await work()
      } finally {
        await sql`select pg_advisory_unlock(${key})`.execute(held)
      }
    })
  return { hold, close: () => db.destroy() }
}
