import type { OutboundAnswer } from '@guildhall/outbound/fetch'
import { retryAfterMs } from '@guildhall/outbound/retry-after'
import { AppError } from '@guildhall/service/errors'

/** Where the code host says of no time: what it asks for in that case. */
const PAUSE_MS = 60_000
/** Its limits are of an hour. */
const LONGEST_PAUSE_MS = 3_600_000

/** When the code host may be asked again, in milliseconds since 1970; nothing where the answer is no limit's. */
export function limitedUntil({ status, headers }: OutboundAnswer, now: Date): number | undefined {
  const used = headers.get('x-ratelimit-remaining') === '0'
  const after = retryAfterMs(headers.get('retry-after'), now.getTime())
  const limited = status === 429 || (status === 403 && (used || after !== undefined))
  if (!limited) return undefined
  const reset = Number(headers.get('x-ratelimit-reset')) * 1000 - now.getTime()
  const wait = after ?? (used && reset > 0 ? reset : PAUSE_MS)
  return now.getTime() + Math.min(wait, LONGEST_PAUSE_MS)
}

/** Whose token a request carried: what to do about a refusal depends on it. */
export type Token = { of: 'org' | 'deployment'; value: string } | undefined

export const noRepo = (repo: string) =>
  new AppError(
    'invalid',
    'repo.not_found',
    `There is no public repository ${repo}. Correct the name; for a private one set github_token under Integrations to a token that may read its actions.`,
  )

/** `until` is in milliseconds since 1970. */
export function limited(token: Token, until: number) {
  const time = new Date(Math.ceil(until / 60_000) * 60_000).toISOString()
  const ownLimit =
    token?.of === 'org'
      ? ''
      : ' A github_token of your own, under Integrations, has a limit of its own.'
  return new AppError(
    'upstream',
    'codehost.limited',
    `The code host lets us ask no more until ${time.slice(0, 10)} ${time.slice(11, 16)} UTC: look again then.${ownLimit}`,
  )
}

export const tokenRefused = () =>
  new AppError(
    'upstream',
    'codehost.token_refused',
    'The code host refuses the token: make a new one and set it as github_token, or tell the operator where the org has none of its own',
  )

const FORBIDDEN_TO = {
  org: 'refuses this to the github_token under Integrations: let that token read the actions of',
  deployment:
    "refuses this to the deployment's token CODEHOST_TOKEN: tell the operator, or set github_token under Integrations to a token that may read the actions of",
  nobody:
    'refuses this without a token: set github_token under Integrations to one that may read the actions of',
}

export const forbidden = (token: Token, repo: string) =>
  new AppError(
    'upstream',
    'codehost.forbidden',
    `The code host ${FORBIDDEN_TO[token?.of ?? 'nobody']} ${repo}. An organization with single sign-on must approve the token too.`,
  )

export const movedAway = (repo: string) =>
  new AppError(
    'upstream',
    'codehost.moved',
    `The code host says that ${repo} is somewhere else. Look where it is now and correct the name.`,
  )

export const unreadable = (cause: unknown) =>
  new AppError(
    'upstream',
    'codehost.unreadable',
    'The code host described the runs in a way that is not understood; try again, and tell the operator',
    { cause },
  )
