/** What went wrong, as rules know it. Only HTTP turns a kind into a status (see STATUS). */
export type Kind = keyof typeof STATUS

export const STATUS = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  too_large: 413,
  unsupported: 415,
  unprocessable: 422,
  rate_limited: 429,
  upstream: 502,
  unavailable: 503,
} as const

export interface Detail {
  /** Where in the request: `/body/name`, `/query/limit`. */
  path: string
  message: string
}

/**
 * A refusal that the caller may read.
 * `code` is stable, `<entity>.<reason>`; `message` says what was wrong, what is accepted and what to do.
 */
export class AppError extends Error {
  readonly kind: Kind
  readonly code: string
  readonly details: readonly Detail[] | undefined
  /** Seconds after which to try again, for the Retry-After header. */
  readonly retryAfter: number | undefined
  constructor(
    kind: Kind,
    code: string,
    message: string,
    options: { cause?: unknown; details?: readonly Detail[]; retryAfter?: number } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : {})
    this.name = 'AppError'
    this.kind = kind
    this.code = code
    this.details = options.details
    this.retryAfter = options.retryAfter
  }
}

/** The one answer for unknown, switched off and somebody else's, so that they look alike. */
export const notFound = () => new AppError('not_found', 'route.not_found', 'Not found')

/**
 * SQLSTATE classes and errors of Node that mean: the database is away or going, and may come back. A password that it
 * stops to take while we run (28P01) is mended there, by no caller of ours.
 */
const AWAY = /^(08...|28P01|57P0[123]|53300|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT)$/
/** What pg says of a connection that broke, without any code. */
const BROKEN =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Query read timeout)/

/** True for an error of Postgres that means it is away, not that the statement is wrong. */
export function isDatabaseAway(error: unknown): boolean {
  const { code = '', message = '' } = error as { code?: string; message?: string }
  return AWAY.test(code) || BROKEN.test(message)
}

/** What a caller is told while the database is away. Whether a write happened is then unknown. */
export const databaseAway = (cause: unknown) =>
  new AppError(
    'unavailable',
    'database.unavailable',
    'The database does not answer at the moment; try again',
    { cause },
  )

/** False for what stays wrong however often it is tried: a refusal, and input that cannot be read. */
export function mayGetBetter(error: unknown): boolean {
  if (error instanceof AppError)
    return ['upstream', 'unavailable', 'rate_limited'].includes(error.kind)
  const { name = '', code } = error as { name?: string; code?: unknown }
  if (/^22[0-9A-Z]{3}$/.test(String(code))) return false // data that Postgres does not take
  return !['ZodError', '$ZodError', 'SyntaxError'].includes(name)
}
