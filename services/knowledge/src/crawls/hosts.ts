import { setTimeout as wait } from 'node:timers/promises'
import { newId } from '@guildhall/service/id'
import { sql } from 'kysely'
import type { Db } from '../db.ts'

/** A holder that ended with its process keeps its host so long: longer than a request takes. */
const HOLD_SECONDS = 60
/** Somebody else's request may end sooner than it has to. */
const LOOK_AGAIN_MS = 200

export type Hosts = ReturnType<typeof createHosts>

/**
 * Requests to one host run one after the other, and each begins `gapSeconds` after the last one ended, whichever process made it:
 * the database decides whose turn it is.
 */
export function createHosts(db: Db, gapSeconds: number) {
  async function take(host: string, holder: string): Promise<boolean> {
    const { rows } = await sql`
      insert into crawl_hosts (host, holder, free_at)
      values (${host}, ${holder}, now() + make_interval(secs => ${HOLD_SECONDS}))
      on conflict (host) do update set holder = excluded.holder, free_at = excluded.free_at
      where crawl_hosts.free_at <= now()
      returning host`.execute(db)
    return rows.length > 0
  }

  async function waitMs(host: string): Promise<number> {
    const { rows } = await sql<{ ms: number }>`
      select (extract(epoch from free_at - now()) * 1000)::float8 as ms
      from crawl_hosts where host = ${host}`.execute(db)
    return Math.max(0, rows[0]?.ms ?? 0)
  }

  async function free(host: string, holder: string) {
    await sql`
      update crawl_hosts set free_at = clock_timestamp() + make_interval(secs => ${gapSeconds})
      where host = ${host} and holder = ${holder}`.execute(db)
  }

  return {
    /** Does the work when it is the host's turn. Throws the reason of `signal` if that comes first. */
    async turn<Result>(host: string, signal: AbortSignal, work: () => Promise<Result>) {
      const holder = newId()
      while (!(await take(host, holder))) {
        const ms = Math.ceil(Math.min(LOOK_AGAIN_MS, await waitMs(host)))
        await wait(ms, undefined, { signal }).catch(() => undefined)
        signal.throwIfAborted()
      }
      try {
        return await work()
      } finally {
        await free(host, holder)
      }
    },
    /** Forgets hosts that nobody asked for a day. */
    async prune() {
      await sql`delete from crawl_hosts where free_at < now() - interval '1 day'`.execute(db)
    },
  }
}
