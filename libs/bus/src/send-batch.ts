import { setTimeout as wait } from 'node:timers/promises'
import type { Db } from '@guildhall/db/open'
import { sql } from 'kysely'
import type { Bus } from './connect.ts'
import { REVOKED_STREAM, TOLD } from './streams.ts'
import type { BusTables } from './tables.ts'

/** Rows that are sent at once. */
export const BATCH = 200
/** What one replica cannot send is left to another early enough for gateways to hear it within a second. */
const URGENT_MS = 400

/**
 * Sends up to a batch of rows under their locks and answers how many it took; one that is refused waits and
 * holds up no other. Throws what one was refused with.
 */
export async function sendBatch(bus: Bus, db: Db<BusTables>, stream: string): Promise<number> {
  const { rows, refused } = await db.transaction().execute(async (trx) => {
    const rows = await trx
      .selectFrom('outbox')
      .select(['id', 'subject', sql<string>`payload::text`.as('payload')])
      .where('sent_at', 'is', null)
      .where('stream', '=', stream)
      .orderBy('id')
      .limit(BATCH)
      .forUpdate()
      .skipLocked()
      .execute()
    const acks = await Promise.allSettled(rows.map((row) => publish(bus, stream, row)))
    const sent = acks.flatMap((ack, i) =>
      ack.status === 'fulfilled' ? [sql`(${rows[i]?.id}::uuid, ${ack.value}::bigint)`] : [],
    )
    if (sent.length > 0) {
      await sql`update outbox set sent_at = now(), stream_seq = sent.seq
        from (values ${sql.join(sent)}) as sent (id, seq) where outbox.id = sent.id`.execute(trx)
    }
    return { rows: rows.length, refused: acks.find((ack) => ack.status === 'rejected') }
  })
  if (refused) throw refused.reason
  return rows
}

type Row = { id: string; subject: string; payload: string }

/** The sequence that the stream gave it; none for what is told past all streams. Rejects, and never throws. */
async function publish(bus: Bus, stream: string, { id, subject, payload }: Row) {
  if (stream === TOLD) return tell(bus, subject)
  const timeout = stream === REVOKED_STREAM ? { timeout: URGENT_MS } : {}
  return (await bus.js.publish(subject, payload, { msgID: id, ...timeout })).seq
}

/** Publishes a message that no stream keeps, and waits until the server has it. */
async function tell(bus: Bus, subject: string) {
  const ending = new AbortController()
  const late = wait(URGENT_MS, undefined, { signal: ending.signal }).then(() => {
    throw new Error(`NATS did not take ${subject} in ${URGENT_MS} ms`)
  })
  try {
    bus.nats.publish(subject)
    await Promise.race([bus.nats.flush(), late])
  } finally {
    ending.abort()
    late.catch(() => {}) // where publishing itself failed nobody else waits for it
  }
  return null
}
