import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import type { Caller } from '@guildhall/contracts/caller'
import {
  type AuditAction,
  type AuditEvent,
  actorOf,
  auditSubject,
} from '@guildhall/contracts/event'
import { deadSubjectOfJob, type Job, subjectOfJob } from '@guildhall/contracts/job'
import type { Service } from '@guildhall/contracts/names'
import type { Db, Trx } from '@guildhall/db/open'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import { sql } from 'kysely'
import type { z } from 'zod'
import type { Bus } from './connect.ts'
import { REVOKED_STREAM, type StreamName, streams } from './streams.ts'
import type { BusTables } from './tables.ts'

/** Something to send once the transaction that writes it has committed. */
export interface Outgoing {
  id: string
  stream: StreamName
  subject: string
  payload: object
}

/** Who did it, for an audit line that no request caused. */
type Actor = Pick<AuditEvent, 'source' | 'actor_kind' | 'actor_id'>

/** An audit line. `by` is the caller of a request, or an actor of another kind. */
export function audit<D extends z.ZodObject>(
  { action, details }: AuditAction<D>,
  by: Caller | Actor,
  org: { id: number } | undefined,
  said: z.input<D>,
): Outgoing {
  const actor: Actor = 'source' in by ? by : { source: 'http', ...actorOf(by) }
  const id = newId()
  const event: AuditEvent = {
    id,
    created_at: new Date().toISOString(),
    action,
    ...actor,
    org_id: org?.id ?? null,
    status: null,
    details: details.parse(said),
  }
  const service = action.slice(0, action.indexOf('.')) as Service
  return { id, stream: 'AUDIT', subject: auditSubject(service), payload: event }
}

/** Longest arguments of a job; files travel as rows named by id. */
const MOST_ARGS_BYTES = 64 * 1024

/** A job to run. The id is also that of its run. Throws `job.too_large` for longer arguments. */
export function queued<J extends Job>(job: J, args: z.input<J['args']>, id = newId()): Outgoing {
  const checked = job.args.parse(args)
  if (Buffer.byteLength(JSON.stringify(checked)) > MOST_ARGS_BYTES) {
    const message = `${job.name}: arguments are at most ${MOST_ARGS_BYTES} bytes; name a row by its id instead`
    throw new AppError('too_large', 'job.too_large', message)
  }
  return { id, stream: 'JOBS', subject: subjectOfJob(job), payload: { id, args: checked } }
}

/** The dead letter of a run whose attempts are used up. */
export function deadLetter(job: Job, run: { id: string; args: unknown }, error: string): Outgoing {
  const payload = { ...run, error }
  return { id: newId(), stream: 'DEAD', subject: deadSubjectOfJob(job), payload }
}

/** Writes what is to be sent into the transaction that it belongs to: both happen or neither. */
export async function enqueue<T extends BusTables>(trx: Trx<T>, ...outgoing: Outgoing[]) {
  const rows = outgoing.map(({ payload, ...row }) => ({
    ...row,
    payload: JSON.stringify(payload),
    sent_at: null,
    stream_seq: null,
  }))
  await (trx as unknown as Trx<BusTables>)
    .insertInto('outbox')
    .values(rows)
    .onConflict((on) => on.column('id').doNothing())
    .execute()
}

const BATCH = 200
const IDLE_MS = 100
const FAULT_MS = 1_000
const RECHECK_MS = 60_000
/** NATS writes a file stream through to the disk within two minutes: a power cut may take that much. */
const UNSURE_SECONDS = 300

/**
 * Sends what `enqueue` wrote, until `signal` aborts; each stream apart, so that one that is missing does
 * not hold up the others. Any number of replicas may: each row is claimed by one, and the message id makes
 * a second sending harmless.
 */
export async function relay<T extends BusTables>(bus: Bus, database: Db<T>, signal: AbortSignal) {
  const db = database as unknown as Db<BusTables>
  const findLost = lossFinder(bus, db, signal)
  let failing = false
  while (!signal.aborted) {
    try {
      await findLost()
      const sent = await sendAll(bus, db)
      if (failing) bus.log.info('The outbox is sent again')
      failing = false
      if (sent < BATCH) await idle(bus, signal)
    } catch (error) {
      if (!failing)
        bus.log.warn({ err: error }, 'The outbox cannot be sent at the moment; its rows wait')
      failing = true
      await wait(FAULT_MS, undefined, { signal }).catch(() => {})
    }
  }
}

/** Looks for lost rows at the start, after every reconnection, since the server may have restarted, and once a minute. */
function lossFinder(bus: Bus, db: Db<BusTables>, signal: AbortSignal) {
  let due: { unsure: boolean } | undefined = { unsure: true }
  bus.onConnected(async () => {
    due = { unsure: true }
  })
  const timer = setInterval(() => {
    due ??= { unsure: false }
  }, RECHECK_MS)
  signal.addEventListener('abort', () => clearInterval(timer))
  return async () => {
    const look = due
    if (look) await unsendLost(bus, db, look.unsure)
    if (due === look) due = undefined
  }
}

/** Until the next look, or until somebody says that there is something to send. */
async function idle(bus: Bus, signal: AbortSignal) {
  const ended = AbortSignal.any([signal, AbortSignal.timeout(IDLE_MS)])
  await once(bus.outbox, 'written', { signal: ended }).catch(() => {})
}

/** Sends a batch to each stream and answers the size of the largest. Throws what one was refused with. */
async function sendAll(bus: Bus, db: Db<BusTables>): Promise<number> {
  const waiting = await db
    .selectFrom('outbox')
    .select('stream')
    .distinct()
    .where('sent_at', 'is', null)
    .execute()
  const batches = await Promise.all(waiting.map(({ stream }) => sendBatch(bus, db, stream)))
  const refusal = batches.find(({ refused }) => refused !== undefined)?.refused
  if (refusal !== undefined) throw refusal
  return Math.max(0, ...batches.map(({ rows }) => rows))
}

/** Sends up to a batch of rows under their locks; one that is refused waits and holds up no other. */
function sendBatch(bus: Bus, db: Db<BusTables>, stream: string) {
  return db.transaction().execute(async (trx) => {
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
    const acks = await Promise.allSettled(rows.map((row) => publish(bus, row)))
    const sent = acks.flatMap((ack, i) =>
      ack.status === 'fulfilled' ? [sql`(${rows[i]?.id}::uuid, ${ack.value.seq}::bigint)`] : [],
    )
    if (sent.length > 0) {
      await sql`update outbox set sent_at = now(), stream_seq = sent.seq
        from (values ${sql.join(sent)}) as sent (id, seq) where outbox.id = sent.id`.execute(trx)
    }
    const refused = acks.find((ack) => ack.status === 'rejected')
    return { rows: rows.length, refused: refused?.reason as unknown }
  })
}

/** Rejects, and never throws, where the connection is closed. */
async function publish(bus: Bus, row: { id: string; subject: string; payload: string }) {
  return bus.js.publish(row.subject, row.payload, { msgID: row.id })
}

/**
 * Rows that a stream no longer knows, because it was made anew or ends before them, are sent again. Where
 * the server may have restarted (`unsure`), so are those of the last minutes before the newest.
 */
export async function unsendLost(bus: Bus, db: Db<BusTables>, unsure: boolean) {
  for (const stream of [...Object.keys(streams), REVOKED_STREAM]) {
    if (!(await hasSent(db, stream))) continue

    const { created, state } = await bus.jsm.streams.info(stream)
    await db
      .updateTable('outbox')
      .set({ sent_at: null })
      .where('stream', '=', stream)
      .where((where) =>
        where.or([
          where('sent_at', '<', new Date(created)),
          where('stream_seq', '>', state.last_seq),
        ]),
      )
      .execute()
  }
  // last, since a failure above repeats all this, and a second time would reach further back
  if (unsure) {
    await db
      .updateTable('outbox')
      .set({ sent_at: null })
      .where(
        'sent_at',
        '>',
        sql<Date>`(select max(sent_at) from outbox) - make_interval(secs => ${UNSURE_SECONDS})`,
      )
      .execute()
  }
}

async function hasSent(db: Db<BusTables>, stream: string) {
  const row = await db
    .selectFrom('outbox')
    .select('id')
    .where('stream', '=', stream)
    .where('sent_at', 'is not', null)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
