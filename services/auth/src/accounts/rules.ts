import { allowedOrigins } from '@guildhall/service/config'
import { AppError } from '@guildhall/service/errors'
import type { Config } from '../config.ts'

/** Where the chat platform sends members back to, `path` of the public address, once all that a sign-in needs is set. */
export function checkMemberSignIn(
  { ACCOUNTS_BASE_URL, CLIENT_ID, CLIENT_SECRET }: Config,
  path: string,
): string {
  const missing = Object.entries({ ACCOUNTS_BASE_URL, CLIENT_ID, CLIENT_SECRET }).flatMap(
    ([name, value]) => (value ? [] : [name]),
  )
  if (missing.length > 0 || !ACCOUNTS_BASE_URL)
    throw new AppError(
      'unavailable',
      'sign_in.not_set_up',
      `The sign-in of members is not set up: set ${missing.join(', ')}`,
    )
  return ACCOUNTS_BASE_URL.replace(/\/+$/, '') + path
}

/** The page that a sign-in returns to: `next`, else the client's. Throws 400 for any other site. */
export function nextAfterSignIn(config: Config, { next }: { next?: string | undefined }): string {
  const own = config.ACCOUNTS_BASE_URL
  if (next === undefined) return config.CLIENT_URL ?? `${own}/health`
  const url = URL.parse(next)
  const origins = [...allowedOrigins(config), ...(own ? [new URL(own).origin] : [])]
  if (url && origins.includes(url.origin)) return url.href
  throw new AppError(
    'invalid',
    'sign_in.next',
    'next must be the whole address of a page of CLIENT_URL, DASHBOARD_URL or ALLOWED_ORIGINS',
  )
}

export function returnedWith(page: string, params: Record<string, string>): string {
  const url = new URL(page)
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value)
  return url.href
}
