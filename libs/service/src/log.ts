import { type DestinationStream, type Logger, multistream, pino, stdTimeFunctions } from 'pino'
import pretty from 'pino-pretty'
import { currentTrace } from './trace.ts'

export type Log = Logger

/** Names of fields whose values never reach a log line, at any depth up to three. */
const SECRET_FIELDS = [
  'authorization',
  'cookie',
  'password',
  'secret',
  'client_secret',
  'token',
  'access_token',
  'refresh_token',
  'code_verifier',
]
const redact = SECRET_FIELDS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`])

/** Levels at which `out` says nothing of an error. */
const ABOVE_ERROR = ['fatal', 'silent']

export interface LogOptions {
  /** `json` is one object a line; `text` is for a person at a terminal. */
  format: 'json' | 'text'
  level?: string
  /** Where lines go; standard output where nothing is said. */
  to?: DestinationStream
  /** Is given each line at error or above, as JSON. */
  errors?: DestinationStream
  /** Is given each line from its level on, as JSON. */
  tracker?: { level: string; stream: DestinationStream } | undefined
}

/** A logger that writes the fields of interface.md: `ts`, `level` (such as ERROR), `logger`, `msg` and what the line adds; within a trace `trace_id`, `job` and `org`. */
export function createLog(
  name: string,
  { format, level = 'info', to, errors, tracker }: LogOptions,
): Log {
  const out = to ?? pino.destination(1)
  const lines = format === 'json' ? out : pretty({ ...PRETTY, destination: out })
  const streams = [
    { level: level as 'info', stream: lines },
    ...(errors ? [{ level: 'error' as const, stream: errors }] : []),
    ...(tracker ? [{ ...tracker, level: tracker.level as 'info' }] : []),
  ]
  return pino(
    {
      level: errors && ABOVE_ERROR.includes(level) ? 'error' : level, // each stream has its own besides
      base: { logger: name },
      redact,
      serializers: { err: shownError },
      mixin: traceFields,
      formatters: { level: (label) => ({ level: label.toUpperCase() }) },
      timestamp: () => stdTimeFunctions.isoTime().replace('"time"', '"ts"'),
    },
    streams.length > 1 ? multistream(streams) : lines,
  )
}

/**
 * What a line tells of an error. Clients and Postgres hang more on theirs: requests with their headers, rows with their
 * values.
 */
function shownError(error: unknown) {
  if (!(error instanceof Error)) return error
  const { type, message, stack, aggregateErrors } = pino.stdSerializers.err(error)
  const { code, kind } = error as { code?: unknown; kind?: unknown }
  const of = aggregateErrors?.map((one: Error) => ({ type: one.name, message: one.message }))
  return { type, message, stack, code, kind, aggregateErrors: of }
}

/**
 * All lines of one request, of its calls and of its jobs have the same `trace_id`. A line says `org: null` where it is about
 * what all orgs share, whichever org's step met it.
 */
function traceFields() {
  const trace = currentTrace()
  if (!trace) return {}
  const { trace_id, job, org } = trace
  return { trace_id, ...(job !== undefined && { job }), ...(org !== undefined && { org }) }
}

const PRETTY = {
  timestampKey: 'ts',
  ignore: 'logger',
  messageFormat: '{logger}: {msg}',
  singleLine: true,
  colorize: false,
  translateTime: false,
}
