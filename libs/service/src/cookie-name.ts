/** Under https the prefix binds a cookie to this very host (RFC 6265bis § 4.1.3.2). */
export const cookieName = ({ name, secure }: { name: string; secure: boolean }) =>
  secure ? `__Host-${name}` : name

export const isHttps = (url: string | undefined) => url?.startsWith('https:') ?? false
