import type { DestinationStream } from 'pino'
import type { z } from 'zod'
import type { trackerSettings } from './config.ts'
import { setSampling, type Trace } from './trace.ts'

type Sentry = typeof import('@sentry/node')
export type TrackerConfig = z.output<z.ZodObject<typeof trackerSettings>>

/** Pino's levels, by what the settings and the tracker call them. */
const LEVELS = {
  DEBUG: 'debug',
  INFO: 'info',
  WARNING: 'warn',
  ERROR: 'error',
  FATAL: 'fatal',
} as const
const ERROR_LEVELS = ['ERROR', 'FATAL']
/** How long the end of a process waits for what is still to be sent. */
const FLUSH_MS = 2_000

/** A tracker's end of a log, and what ends with the process. */
export interface Tracker extends AsyncDisposable {
  level: (typeof LEVELS)[keyof typeof LEVELS]
  stream: DestinationStream
}

let sentry: Sentry | undefined

/**
 * Opens the external error tracker, or nothing without TRACKER_DSN. Lines from TRACKER_LOGS_LEVEL on are sent as logs, those at
 * error or above as errors too, and sampled steps of traces. Nothing is collected but what the log says.
 */
export async function openTracker(
  name: string,
  config: TrackerConfig,
): Promise<Tracker | undefined> {
  const { TRACKER_DSN: dsn, TRACKER_LOGS_LEVEL: lowest } = config
  if (!dsn) return undefined
  const client = await import('@sentry/node')
  if (!sentry) {
    client.initWithoutDefaultIntegrations({
      ...{ dsn, enableLogs: true, sendDefaultPii: false, tracesSampleRate: 1 }, // what is traced is chosen in trace.ts
      ...{ release: config.GIT_COMMIT_HASH, environment: config.TRACKER_ENVIRONMENT },
      ...{ serverName: name, enableRuntimeChannelInjection: false },
    })
    setSampling(config.TRACKER_TRACES_SAMPLE_RATE)
  }
  sentry = client
  return {
    level: LEVELS[lowest],
    stream: { write: (text: string) => sendLine(client, JSON.parse(text) as Line) },
    [Symbol.asyncDispose]: async () => void (await client.flush(FLUSH_MS)),
  }
}

interface Line {
  level: keyof typeof SEVERITY
  logger: string
  msg?: string
  err?: { type?: string; message?: string; stack?: string; code?: string }
  trace_id?: string
  job?: string
  [more: string]: unknown
}
const SEVERITY = {
  DEBUG: 'debug',
  INFO: 'info',
  WARN: 'warning',
  ERROR: 'error',
  FATAL: 'fatal',
} as const
/** What goes along as it is; anything else of a line stays here. */
const FIELDS = ['route', 'status', 'org', 'reason', 'reqId', 'job', 'run_id', 'call'] as const

function sendLine(client: Sentry, line: Line) {
  const { level, logger, msg = '', err } = line
  const fields = Object.fromEntries(
    FIELDS.flatMap((name) => (line[name] === undefined ? [] : [[name, line[name]]])),
  )
  const tags = { service: roleOf(logger, line.job), part: logger }
  inScope(client, line.trace_id, () => {
    const logged = level === 'WARN' ? 'warn' : (level.toLowerCase() as 'info')
    client.logger[logged](msg, { ...fields, ...tags, ...(err && { error: err.message }) })
    if (!ERROR_LEVELS.includes(level)) return
    const type = err?.code ?? err?.type ?? 'Error'
    const frames = client.defaultStackParser(err?.stack ?? '')
    const value = {
      type,
      value: err?.message ?? msg,
      ...(frames.length && { stacktrace: { frames } }),
    }
    client.captureEvent({
      ...{ level: SEVERITY[level], logger, message: msg, tags, extra: fields },
      exception: { values: [value] },
    })
  })
}

/** interface.md: api, bot, worker or mcp. */
function roleOf(logger: string, job: string | undefined) {
  if (job !== undefined) return 'worker'
  return logger === 'bot' || logger === 'mcp' ? logger : 'api'
}

function inScope(client: Sentry, traceId: string | undefined, work: () => void) {
  client.withScope((scope) => {
    if (traceId) scope.setPropagationContext({ traceId, sampleRand: Math.random() })
    work()
  })
}

interface Step {
  trace: Trace
  name: string
  op: 'http.server' | 'rpc' | 'queue.process'
  service: string
  seconds: number
}

/** Tells the tracker of a step that has just ended, if it is sampled and there is one. */
export function traceStep({ trace, name, op, service, seconds }: Step) {
  const client = sentry
  if (!client || !trace.sampled) return
  const sentryTrace = `${trace.trace_id}-${trace.parent_id ?? trace.span_id}-1`
  const end = Date.now()
  client.continueTrace({ sentryTrace, baggage: undefined }, () => {
    const role = roleOf(service, op === 'queue.process' ? name : undefined)
    const attributes = { service: role, part: service }
    const startTime = end - seconds * 1000
    client.startInactiveSpan({ name, op, startTime, attributes, forceTransaction: true }).end(end)
  })
}
