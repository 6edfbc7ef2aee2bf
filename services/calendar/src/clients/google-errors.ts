import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '@guildhall/service/errors'

/** An error of the official client, as far as it is read. */
interface ApiError {
  status?: number
  config?: { retryConfig?: { currentRetryAttempt?: number } }
  response?: { data?: unknown; headers?: Headers } | undefined
}

const RETRIES = 5
const LONGEST_WAIT_MS = 60_000

/** Every request may be sent twice: events are made with ids of our choosing. */
export const retryConfig = {
  retry: RETRIES,
  shouldRetry: (error: ApiError) => {
    const { currentRetryAttempt = 0 } = error.config?.retryConfig ?? {}
    return currentRetryAttempt < RETRIES && isTemporary(error)
  },
  async retryBackoff({ response }: ApiError, ms: number) {
    const seconds = Number(response?.headers?.get('retry-after')) || 0
    await sleep(Math.min(LONGEST_WAIT_MS, Math.max(ms, seconds * 1_000)))
  },
}

/** For a request that has another effect each time. */
export const notRepeated = { ...retryConfig, shouldRetry: () => false }

const isTemporary = (error: ApiError) =>
  isLimited(error) || (error.status ?? 0) >= 500 || (!error.response && !isAborted(error))

const isAborted = (error: unknown) => (error as Error).name === 'AbortError'

/** Too many requests is 429, or 403 with one of these reasons. */
function isLimited({ status, response }: ApiError): boolean {
  if (status === 429) return true
  return status === 403 && /rateLimitExceeded|quotaExceeded/i.test(JSON.stringify(response?.data))
}

/** What an officer is told instead of what the client says. */
export async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof AppError) throw cause
    const [reason, message] = said(cause as ApiError)
    throw new AppError('upstream', `google_calendar.${reason}`, message, { cause })
  }
}

function said(error: ApiError): readonly [string, string] {
  if (isLimited(error))
    return ['rate_limited', 'The calendar service wants fewer requests; try again in some minutes']
  switch (error.status) {
    case 401:
    case 400:
      return isOfToken(error) || error.status === 401
        ? [
            'key_refused',
            'The calendar service refuses the account: make a new key and set google_service_account under Integrations',
          ]
        : ['refused', 'The calendar service refuses the event']
    case 403:
      return [
        'not_allowed',
        'The account may not write the calendar: share it with the client_email of the key, with the right to change events',
      ]
    case 404:
    case 410:
      return [
        'not_found',
        'The calendar service shows the account no such calendar: share it with the client_email of the key, or set google_calendar_id to null to have a new one made',
      ]
    default:
      return ['unreachable', 'The calendar service does not answer; try again in a minute']
  }
}

/** RFC 6749 § 5.2: the answer of the token endpoint has `error` as a text. */
const isOfToken = ({ response }: ApiError) =>
  typeof (response?.data as { error?: unknown } | undefined)?.error === 'string'
