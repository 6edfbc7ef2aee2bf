interface Named {
  name: string
  secure: boolean
}

/** Under https the prefix binds a cookie to this very host (RFC 6265bis § 4.1.3.2). */
export const cookieName = ({ name, secure }: Named) => (secure ? `__Host-${name}` : name)

/** A `set-cookie` for the whole host, out of scripts' reach; 0 seconds deletes it. */
export function cookieHeader(named: Named, value: string, seconds: number) {
  const secure = named.secure ? '; Secure' : ''
  return `${cookieName(named)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`
}

export const isHttps = (url: string | undefined) => url?.startsWith('https:') ?? false
