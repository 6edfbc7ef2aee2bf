import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '@guildhall/service/errors'
import { fetch } from 'undici'
import { BodyTooLarge, readBody } from './body.ts'
import { type GuardedOptions, guardedFetch } from './guarded.ts'
import { retryAfterMs } from './retry-after.ts'

const TIMEOUT_MS = 10_000
const MAX_BYTES = 10 * 1024 * 1024
const RETRIES = 2
/** The wait before retry n is random between zero and FIRST_WAIT_MS · 2ⁿ ("full jitter"), at most LONGEST_WAIT_MS. */
const FIRST_WAIT_MS = 250
const LONGEST_WAIT_MS = 10_000
/** A service that asks for a longer pause is not waited for: the caller learns it at once. */
const LONGEST_RETRY_AFTER_MS = 30_000
/** RFC 9110 § 9.2.2. */
const IDEMPOTENT_METHODS = ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']

export interface OutboundRequest {
  /** Names the service in errors: `embeddings` gives codes such as `embeddings.timeout`. */
  service: string
  url: string
  method?: string
  headers?: Record<string, string>
  /** Bytes and strings are sent as they are, anything else as JSON. */
  body?: unknown
  /** Of one attempt, from connecting to the last byte. */
  timeoutMs?: number
  /** Longest answer after decompression. */
  maxBytes?: number
  /** Attempts after the first. */
  retries?: number
  /** Sending it twice does no harm, although it is a POST: it is retried like a GET. */
  idempotent?: boolean
  /** Statuses that are answers and no failures, such as 404. 2xx always are. */
  accept?: readonly number[]
  signal?: AbortSignal
  /** The URL is an officer's: it is fetched from the public internet only (guarded.ts). */
  guard?: Pick<GuardedOptions, 'allowAddresses' | 'blockedNetworks' | 'lookup'>
  /** Waits between attempts. Only tests replace it. */
  wait?: (ms: number) => Promise<unknown>
}

export interface OutboundAnswer {
  status: number
  headers: { get(name: string): string | null }
  bytes: Buffer
  /** The body as JSON; throws `<service>.not_json`. Its shape is still to be checked by a schema. */
  json(): unknown
}

interface Failure {
  error: AppError
  retry: 'never' | 'idempotent' | 'always'
  afterMs?: number | undefined
}

/**
 * One request to an outside service. Redirects are not followed.
 * Retries, with jitter, 429 always and 5xx, timeouts and lost connections if the request is idempotent; Retry-After is honoured.
 * Throws AppError('upstream', '<service>.timeout | unreachable | rate_limited | failed | refused | redirected | too_large | not_allowed').
 * Messages name the service and its origin, never path, query or credentials, because these hold secrets.
 */
export async function outbound(request: OutboundRequest): Promise<OutboundAnswer> {
  const { retries = RETRIES, wait = (ms: number) => pause(ms, request.signal) } = request
  for (let attempt = 0; ; attempt++) {
    const result = await tryOnce(request)
    if (!('error' in result)) return result
    const delay = attempt < retries ? delayBefore(attempt, request, result) : null
    if (delay === null) throw result.error
    await wait(delay)
  }
}

/** Returns early when stopped; the next attempt then fails with the reason. */
const pause = (ms: number, signal?: AbortSignal) =>
  sleep(ms, undefined, signal ? { signal } : {}).catch(() => undefined)

function delayBefore(attempt: number, request: OutboundRequest, failure: Failure): number | null {
  const { method = 'GET', idempotent = IDEMPOTENT_METHODS.includes(method.toUpperCase()) } = request
  if (failure.retry === 'never' || request.signal?.aborted) return null
  if (failure.retry === 'idempotent' && !idempotent) return null
  const jittered = Math.random() * Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempt + 1))
  if (failure.afterMs === undefined) return jittered
  return failure.afterMs > LONGEST_RETRY_AFTER_MS ? null : failure.afterMs + jittered
}

async function tryOnce(request: OutboundRequest): Promise<OutboundAnswer | Failure> {
  const { timeoutMs = TIMEOUT_MS, maxBytes = MAX_BYTES, accept = [] } = request
  const timeout = AbortSignal.timeout(timeoutMs)
  try {
    if (request.guard) return await tryGuarded(request, request.guard)
    const response = await fetch(...fetchArguments(request, timeout))
    if (!response.ok && !accept.includes(response.status)) {
      await response.body?.cancel()
      return statusFailure(request, response.status, response.headers.get('retry-after'))
    }
    const bytes = await readBody(response, maxBytes)
    const { status, headers } = response
    return { status, headers, bytes, json: () => parseJson(request, bytes) }
  } catch (cause) {
    if (cause instanceof AppError) throw cause
    return brokenFailure(request, cause, timeout.aborted)
  }
}

/** As `tryOnce`, from the public internet only. */
async function tryGuarded(
  request: OutboundRequest,
  guard: NonNullable<OutboundRequest['guard']>,
): Promise<OutboundAnswer | Failure> {
  const { timeoutMs = TIMEOUT_MS, maxBytes = MAX_BYTES, accept = [], signal } = request
  const { method = 'GET', headers = {}, body } = request
  const raw = typeof body === 'string' || body instanceof Uint8Array
  try {
    const { status, bytes, ...answer } = await guardedFetch(request.url, {
      ...guard,
      method: method as NonNullable<GuardedOptions['method']>,
      headers: {
        ...(body !== undefined && !raw && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: raw ? body : JSON.stringify(body) }),
      ...{ timeoutMs, maxBytes, maxRedirects: 0 },
      ...(signal && { signal }),
    })
    const fine = (status >= 200 && status < 300) || accept.includes(status)
    if (!fine) return statusFailure(request, status, answer.headers.get('retry-after'))
    return { status, headers: answer.headers, bytes, json: () => parseJson(request, bytes) }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return guardFailure(request, error)
  }
}

/** What guardedFetch says names the host alone. */
function guardFailure({ service }: OutboundRequest, cause: AppError): Failure {
  const reason = cause.kind === 'invalid' ? 'not_allowed' : cause.code.replace(/^url\./, '')
  const error = new AppError('upstream', `${service}.${reason}`, `${service}: ${cause.message}`, {
    cause,
  })
  const again = ['timeout', 'unreachable'].includes(reason)
  return { error, retry: again ? 'idempotent' : 'never' }
}

function fetchArguments(request: OutboundRequest, timeout: AbortSignal): Parameters<typeof fetch> {
  const { method = 'GET', body } = request
  const { url, authorization } = withoutCredentials(request)
  const raw = typeof body === 'string' || body instanceof Uint8Array
  const headers = {
    ...(authorization && { authorization }),
    ...(body !== undefined && !raw && { 'content-type': 'application/json' }),
    ...Object.fromEntries(
      Object.entries(request.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
    ),
  }
  const signal = request.signal ? AbortSignal.any([request.signal, timeout]) : timeout
  const content = raw ? body : JSON.stringify(body)
  return [
    url,
    { method, headers, signal, redirect: 'manual', ...(body !== undefined && { body: content }) },
  ]
}

/** `https://user:password@host/` becomes Basic authentication, as fetch refuses such URLs and quotes them in its error. */
function withoutCredentials({ service, url }: OutboundRequest) {
  const parsed = URL.parse(url)
  if (!parsed || !/^https?:$/.test(parsed.protocol)) {
    throw new AppError(
      'unavailable',
      `${service}.misconfigured`,
      `The URL set for ${service} is not an http(s) URL`,
    )
  }
  const { username, password } = parsed
  parsed.username = ''
  parsed.password = ''
  if (!username && !password) return { url: parsed }
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { url: parsed, authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
}

function statusFailure(
  request: OutboundRequest,
  status: number,
  retryAfter: string | null,
): Failure {
  const refused = (reason: string) => failure(request, reason, `answered ${status}`)
  const afterMs = retryAfterMs(retryAfter)
  if (status === 429) return { error: limited(request, afterMs), retry: 'always', afterMs }
  if (status >= 500) return { error: refused('failed'), retry: 'idempotent', afterMs }
  return { error: refused(status < 400 ? 'redirected' : 'refused'), retry: 'never' }
}

/** Whoever asked is told the same wait. */
function limited(request: OutboundRequest, afterMs: number | undefined): AppError {
  const { kind, code, message } = failure(request, 'rate_limited', 'answered 429')
  if (afterMs === undefined) return new AppError(kind, code, message)
  return new AppError(kind, code, message, { retryAfter: Math.max(1, Math.ceil(afterMs / 1000)) })
}

function brokenFailure(request: OutboundRequest, cause: unknown, timedOut: boolean): Failure {
  const { timeoutMs = TIMEOUT_MS, maxBytes = MAX_BYTES } = request
  if (cause instanceof BodyTooLarge) {
    const message = `sent more than the ${maxBytes} bytes allowed`
    return { error: failure(request, 'too_large', message, cause), retry: 'never' }
  }
  if (timedOut) {
    const message = `did not answer within ${timeoutMs} ms`
    return { error: failure(request, 'timeout', message, cause), retry: 'idempotent' }
  }
  return {
    error: failure(request, 'unreachable', 'could not be reached', cause),
    retry: 'idempotent',
  }
}

function failure(
  request: OutboundRequest,
  reason: string,
  what: string,
  cause?: unknown,
): AppError {
  const message = `${request.service} (${new URL(request.url).origin}) ${what}`
  return new AppError('upstream', `${request.service}.${reason}`, message, cause ? { cause } : {})
}

function parseJson(request: OutboundRequest, bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    // The parser's own message quotes the body, which may hold secrets.
    throw failure(request, 'not_json', 'answered with something that is not JSON')
  }
}
