import { setTimeout as wait } from 'node:timers/promises'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import { sql } from 'kysely'
import type { Db } from '../db.ts'

/** A holder that ended with its process keeps its host so long: longer than a request takes. */
const HOLD_SECONDS = 60
/** Somebody else's request may end sooner than it has to. */
const LOOK_AGAIN_MS = 200
/** A host that is free no sooner than after a hold, or the gap, and this, asked for a pause. */
const MARGIN_MS = 5_000

export type Hosts = ReturnType<typeof createHosts>

/**
 * Requests to one host run one after the other, and each begins `gapSeconds` after the last one ended, whichever process made it:
 * the database decides whose turn it is. A host that asked for a pause is not asked until it is over.
 */
export function createHosts(db: Db, gapSeconds: number) {
  const longestMs = Math.max(HOLD_SECONDS, gapSeconds) * 1000 + MARGIN_MS

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

  async function free(host: string, holder: string, seconds: number) {
    await sql`
      update crawl_hosts set free_at = clock_timestamp() + make_interval(secs => ${seconds})
      where host = ${host} and holder = ${holder}`.execute(db)
  }

  return {
    /**
     * Does the work when it is the host's turn; what it calls `rest` with are seconds for which the host asked to be left alone.
     * Throws the reason of `signal` if that comes first, and AppError('upstream', 'crawl.host_rests') during such a pause.
     */
    async turn<Result>(
      host: string,
      signal: AbortSignal,
      work: (rest: (seconds: number) => void) => Promise<Result>,
    ) {
      const holder = newId()
      let pause = gapSeconds
      while (!(await take(host, holder))) {
        const left = await waitMs(host)
        if (left > longestMs) throw resting(host, Math.ceil(left / 1000))
        const ms = Math.ceil(Math.min(LOOK_AGAIN_MS, left))
        await wait(ms, undefined, { signal }).catch(() => undefined)
        signal.throwIfAborted()
      }
      try {
        return await work((seconds) => {
          pause = Math.max(pause, seconds)
        })
      } finally {
        await free(host, holder, pause)
      }
    },
    /** Forgets hosts that nobody asked for a day. */
    async prune() {
      await sql`delete from crawl_hosts where free_at < now() - interval '1 day'`.execute(db)
    },
  }
}

const resting = (host: string, seconds: number) =>
  new AppError(
    'upstream',
    'crawl.host_rests',
    `${host} asked crawls to leave it alone for a while. It is asked again in ${seconds} seconds.`,
    { retryAfter: seconds },
  )
