import type { Caller } from '@guildhall/contracts/caller'
import {
  type AuditAction,
  type AuditEvent,
  actorOf,
  auditSubject,
} from '@guildhall/contracts/event'
import { deadSubjectOfJob, type Job, subjectOfJob } from '@guildhall/contracts/job'
import type { Service } from '@guildhall/contracts/names'
import type { Trx } from '@guildhall/db/open'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import { traceparent } from '@guildhall/service/trace'
import type { z } from 'zod'
import type { StreamName, TOLD } from './streams.ts'
import type { BusTables } from './tables.ts'

/** Something to send once the transaction that writes it has committed. */
export interface Outgoing {
  id: string
  stream: StreamName | typeof TOLD
  subject: string
  payload: object
}

/** Who did it, for an audit line that no request caused. */
type Actor = Pick<AuditEvent, 'source' | 'actor_kind' | 'actor_id'>

/** An audit line. `by` is the caller of a request, or an actor of another kind; `status` is that of what was refused. */
export function audit<D extends z.ZodObject>(
  { action, details }: AuditAction<D>,
  by: Caller | Actor,
  org: { id: number } | undefined,
  said: z.input<D>,
  status: number | null = null,
): Outgoing {
  const actor: Actor = 'source' in by ? by : { source: 'http', ...actorOf(by) }
  const id = newId()
  const event: AuditEvent = {
    id,
    created_at: new Date().toISOString(),
    action,
    ...actor,
    org_id: org?.id ?? null,
    status,
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
  const parent = traceparent() // the run is a step of the trace that asked for it
  const payload = { id, args: checked, ...(parent && { traceparent: parent }) }
  return { id, stream: 'JOBS', subject: subjectOfJob(job), payload }
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
