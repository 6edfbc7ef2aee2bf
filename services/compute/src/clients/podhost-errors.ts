import type { OutboundAnswer } from '@guildhall/outbound/fetch'
import { AppError } from '@guildhall/service/errors'
import { HostProblem } from './podhost-shapes.ts'

/** How much of the host's reason is passed on. */
const MOST_REASON_CHARS = 500
/** When a silent host is worth another try, where it says nothing itself. */
const RETRY_SECONDS = 60

/** Errors that say for certain that the host did nothing. */
const CERTAIN = ['podhost.refused', 'podhost.key_refused', 'podhost.rate_limited']
const NOT_SENT = ['podhost.not_connected', 'podhost.misconfigured']
const NOT_ACTED = ['pod.wrong_state', 'pod.gone']

/** True where it is certain that a pod was not made; after any other error it may be there. */
export const isNotMade = (error: unknown) =>
  error instanceof AppError && [...CERTAIN, ...NOT_SENT].includes(error.code)

/** True where it is certain that nothing happened to a pod. */
export const isNotDone = (error: unknown) =>
  isNotMade(error) || (error instanceof AppError && NOT_ACTED.includes(error.code))

/** What an officer is told instead of what a client of HTTP says. Always throws. */
export function explained(error: unknown): never {
  if (!(error instanceof AppError)) throw error
  const { code, kind, retryAfter = RETRY_SECONDS } = error
  if (kind !== 'upstream') throw error
  throw new AppError('upstream', code, sentenceOf(code, retryAfter), {
    cause: error,
    ...(isTemporary(code) && { retryAfter }),
  })
}

const isTemporary = (code: string) =>
  ['timeout', 'unreachable', 'failed', 'rate_limited'].some((reason) => code.endsWith(reason))

function sentenceOf(code: string, seconds: number): string {
  switch (code) {
    case 'podhost.timeout':
      return 'The pod host does not answer in time; look at its status page, and try again in a minute'
    case 'podhost.unreachable':
      return 'The pod host cannot be reached; try again in a minute, and tell the operator if it stays so'
    case 'podhost.failed':
      return 'The pod host has a fault of its own; look at its status page, and try again in a minute'
    case 'podhost.rate_limited':
      return `The pod host wants fewer requests from the org's account; try again in ${seconds} s`
    default:
      return UNREADABLE
  }
}

const UNREADABLE =
  'The pod host answered something else than its description says; try again, and tell the operator to check PODHOST_API_URL'

export const unreadable = () => new AppError('upstream', 'podhost.unreadable', UNREADABLE)

/** Takes out of a text what nobody may read. */
export type Hide = (text: string) => string

const asItIs: Hide = (text) => text

/** Nothing is cut before it is hidden: half a secret would not be known for one. */
function reasonOf(answer: OutboundAnswer, hide: Hide): string {
  try {
    const { detail, errors = [] } = HostProblem.parse(answer.json())
    return hide([detail, ...errors].join('; ')).slice(0, MOST_REASON_CHARS)
  } catch {
    return `it answered ${answer.status} without a reason`
  }
}

export const refused = (answer: OutboundAnswer, hide = asItIs) =>
  new AppError(
    'invalid',
    'podhost.refused',
    `The pod host refuses this: ${reasonOf(answer, hide)}. Change the values, or try again where it has no capacity.`,
  )

export const wrongState = (action: string, answer: OutboundAnswer, hide = asItIs) =>
  new AppError(
    'conflict',
    'pod.wrong_state',
    `The pod host does not ${action} the pod: ${reasonOf(answer, hide)}. Read its status; where it has no capacity, try again later or make a pod of another kind.`,
  )

export const failed = (answer: OutboundAnswer, hide = asItIs) =>
  new AppError(
    'upstream',
    'podhost.failed',
    `The pod host failed: ${reasonOf(answer, hide)}. Look at its status page, and try again in a minute.`,
    { retryAfter: RETRY_SECONDS },
  )

export const keyRefused = () =>
  new AppError(
    'upstream',
    'podhost.key_refused',
    "The pod host refuses the org's API key: make a new one there and set it as podhost_api_key",
  )

export const notConnected = () =>
  new AppError(
    'unavailable',
    'podhost.not_connected',
    'The org has not connected a pod host: set podhost_api_key under Integrations',
  )
