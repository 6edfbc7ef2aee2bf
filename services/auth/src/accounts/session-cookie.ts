import { SESSION_COOKIE } from '@guildhall/contracts/accounts'
import { cookieName, isHttps } from '@guildhall/service/cookie-name'
import type { Config } from '../config.ts'
import { cookieHeader } from '../cookies.ts'
import { LONGEST_SECONDS } from './sessions.ts'

type Cookies = Readonly<Record<string, string | undefined>>
type Settings = Pick<Config, 'ACCOUNTS_BASE_URL'>

const named = ({ ACCOUNTS_BASE_URL }: Settings) => ({
  name: SESSION_COOKIE,
  secure: isHttps(ACCOUNTS_BASE_URL),
})

/** What the browser sent as its session. */
export const sentSession = (config: Settings, cookies: Cookies) =>
  cookies[cookieName(named(config))] ?? ''

/** The `set-cookie` of a session that has just begun. */
export const rememberSession = (config: Settings, value: string) =>
  cookieHeader(named(config), value, LONGEST_SECONDS)

/** The `set-cookie` that makes the browser forget its session. */
export const forgetSession = (config: Settings) => cookieHeader(named(config), '', 0)
