import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import { parseTraceParent } from '@opentelemetry/core'

/** The header of HTTP and NATS, and the field of a queued job, that carries a trace on (W3C Trace Context). */
export const TRACEPARENT = 'traceparent'

/** One step of a trace: a request, a call or a run of a job. */
export interface Trace {
  /** The same for all that one request causes, in whichever process. */
  trace_id: string
  span_id: string
  /** The step that caused it, if any. */
  parent_id: string | undefined
  /** Whoever began the trace chose it for the tracker. */
  sampled: boolean
  /** The job that runs, if one does. */
  job?: string
  /** The id of the org that it is done for, as far as that is known yet. */
  org?: number | undefined
}

const current = new AsyncLocalStorage<Trace>()
let share = 0

/** Which share of traces that begin here is sampled, 0 to 1. */
export function setSampling(rate: number) {
  share = rate
}

/** The next step of the trace that `header` names, or the first of a new one where it names none. */
export function traceFrom(header: string | string[] | undefined): Trace {
  const from = typeof header === 'string' ? parseTraceParent(header) : null
  return {
    trace_id: from?.traceId ?? randomBytes(16).toString('hex'),
    span_id: randomBytes(8).toString('hex'),
    parent_id: from?.spanId,
    sampled: from ? (from.traceFlags & 1) === 1 : chosen(),
  }
}

/** The same for a stranger's header: its trace goes on, and whether it is sampled is chosen here. */
export const traceFromStranger = (header: string | string[] | undefined): Trace => ({
  ...traceFrom(header),
  sampled: chosen(),
})

const chosen = () => Math.random() < share

/** Does `work`, and all that it causes, as a step of a trace. */
export const inTrace = <R>(trace: Trace, work: () => R): R => current.run(trace, work)

/** The step under way, if any. */
export const currentTrace = (): Trace | undefined => current.getStore()

/** From now on the step under way, and all that it logs, is of this org. */
export function ofOrg(id: number | undefined) {
  const trace = current.getStore()
  if (trace) trace.org = id
}

/** What tells the next process which trace it continues; nothing outside of one. */
export function traceparent(): string | undefined {
  const trace = current.getStore()
  return trace && `00-${trace.trace_id}-${trace.span_id}-${trace.sampled ? '01' : '00'}`
}
