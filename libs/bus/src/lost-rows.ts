import type { Db } from '@guildhall/db/open'
import { sql } from 'kysely'
import type { Bus } from './connect.ts'
import { REVOKED_STREAM, type StreamName, streams } from './streams.ts'
import type { BusTables } from './tables.ts'

const RECHECK_MS = 60_000
/** NATS writes a file stream through to the disk within two minutes: a power cut may take that much. */
const UNSURE_SECONDS = 300
const keptStreams = [...(Object.keys(streams) as StreamName[]), REVOKED_STREAM]

/**
 * Looks for rows that a stream lost: at the start, after every reconnection, since the server may have
 * restarted, and once a minute. Each stream apart; one that cannot be looked at stays due.
 */
export function lossFinder(bus: Bus, db: Db<BusTables>, signal: AbortSignal) {
  const looks = new Map<string, Look>()
  const unsure = () => {
    for (const stream of keptStreams) looks.set(stream, { unsureSince: performance.now() })
  }
  const recheck = () => {
    for (const stream of keptStreams) looks.set(stream, looks.get(stream) ?? {})
  }
  unsure()
  bus.onConnected(async () => unsure())
  const timer = setInterval(recheck, RECHECK_MS)
  signal.addEventListener('abort', () => clearInterval(timer))
  return {
    due: () => [...looks.keys()],
    async look(stream: string) {
      const look = looks.get(stream)
      if (look) await unsendLost(bus, db, stream, look)
      if (looks.get(stream) === look) looks.delete(stream)
    },
  }
}

interface Look {
  /** When (`performance.now()`) a server answered that may have restarted before. */
  unsureSince?: number
}

/**
 * Rows that the stream no longer knows, because it was made anew or ends before them, are sent again. Where
 * the server may have restarted, so are those of the last minutes before the newest; not what was sent since.
 */
export async function unsendLost(
  bus: Bus,
  db: Db<BusTables>,
  stream: string,
  { unsureSince }: Look = {},
) {
  const newest = await newestSent(db, stream)
  if (newest === null) return

  const { created, state } = await bus.jsm.streams.info(stream)
  await db
    .updateTable('outbox')
    .set({ sent_at: null })
    .where('stream', '=', stream)
    .where((where) =>
      where.or([
        where('sent_at', '<', new Date(created)),
        // not what was sent while the stream was asked
        where.and([where('stream_seq', '>', state.last_seq), where('stream_seq', '<=', newest)]),
      ]),
    )
    .execute()
  // last, since a failure above repeats all this, and a second time would reach further back
  if (unsureSince !== undefined)
    await db.connection().execute((one) => unsendUnsure(one, stream, unsureSince))
}

/** By one clock, the database's, so on one connection: no wait for one comes between the two. */
async function unsendUnsure(db: Db<BusTables>, stream: string, unsureSince: number) {
  const newest = sql`(select max(sent_at) from outbox where stream = ${stream})`
  const seconds = (performance.now() - unsureSince) / 1000
  await db
    .updateTable('outbox')
    .set({ sent_at: null })
    .where('stream', '=', stream)
    .where('sent_at', '>', sql<Date>`${newest} - make_interval(secs => ${UNSURE_SECONDS})`)
    .where('sent_at', '<', sql<Date>`now() - make_interval(secs => ${seconds})`)
    .execute()
}

/** The sequence of the newest row that the stream took; nothing where there is none. */
async function newestSent(db: Db<BusTables>, stream: string) {
  const { newest } = await db
    .selectFrom('outbox')
    .select(({ fn }) => fn.max('stream_seq').as('newest'))
    .where('stream', '=', stream)
    .where('sent_at', 'is not', null)
    .executeTakeFirstOrThrow()
  return newest
}
