import { cookieName } from '@guildhall/service/cookie-name'

interface Named {
  name: string
  secure: boolean
}

/** A `set-cookie` for the whole host, out of scripts' reach; 0 seconds deletes it. */
export function cookieHeader(named: Named, value: string, seconds: number) {
  const secure = named.secure ? '; Secure' : ''
  return `${cookieName(named)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`
}
