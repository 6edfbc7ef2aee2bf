import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino'
import pretty from 'pino-pretty'

export type Log = Logger

/** Names of fields whose values never reach a log line, at any depth up to three. */
const SECRET_FIELDS = ['authorization', 'cookie', 'password', 'secret', 'token', 'code']
const redact = SECRET_FIELDS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`])

/**
 * A logger that writes the fields of interface.md: `ts`, `level`, `logger`, `msg` and what the line adds.
 * `json` is one object a line; `text` is for a person at a terminal.
 */
export function createLog(
  name: string,
  { format, level = 'info', to }: { format: 'json' | 'text'; level?: string; to?: DestinationStream },
): Log {
  const stream = format === 'json' ? to : pretty({ messageKey: 'msg', timestampKey: 'ts', ignore: 'pid,hostname', ...(to && { destination: to }) })
  return pino(
    {
      level,
      base: { logger: name },
      redact,
      timestamp: () => stdTimeFunctions.isoTime().replace('"time"', '"ts"'),
      formatters: { level: (label) => ({ level: label.toUpperCase() }) },
    },
    ...(stream ? [stream] : []),
  )
}
