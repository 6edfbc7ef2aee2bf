import { createHash } from 'node:crypto'
import { subkey } from '@guildhall/outbound/sealed'
import { cookieName } from '@guildhall/service/cookie-name'
import { EncryptJWT, jwtDecrypt } from 'jose'
import { z } from 'zod'
import { cookieHeader } from '../cookies.ts'
import { randomValue } from '../hash.ts'

/** Seconds in which a sign-in must come back (decisions.md § 0). */
const SIGN_IN_SECONDS = 600

/** What every sign-in under way remembers besides where it goes. */
const Remembered = z.object({
  state: z.string(),
  /** The PKCE verifier (RFC 7636). */
  verifier: z.string(),
})

/** The PKCE challenge of a verifier, method S256 (RFC 7636 § 4.2). */
export const challengeOf = (verifier: string) =>
  createHash('sha256').update(verifier).digest('base64url')

interface Options<S extends z.ZodRawShape> {
  /** The cookie's plain name; a cookie of one name does not open under another. */
  name: string
  /** What it remembers besides state and verifier. */
  shape: S
  secure: boolean
  secretKey: string
}

/**
 * The cookie of a sign-in under way: state, PKCE verifier and `shape`, encrypted (JWE, A256GCM) so that the
 * verifier stays ours, for ten minutes. Lax, because the browser comes back from another site.
 */
export function signInCookie<S extends z.ZodRawShape>(options: Options<S>) {
  const { name, shape, secure, secretKey } = options
  const schema = Remembered.extend(shape)
  type SignIn = z.output<typeof schema>
  const key = subkey(secretKey, name)
  return {
    /** Starts a sign-in: what is remembered, and the `set-cookie` that makes the browser remember it. */
    async begin(further: z.output<z.ZodObject<S>>) {
      const signIn = { ...further, state: randomValue(), verifier: randomValue() } as SignIn
      const sealed = await new EncryptJWT({ ...signIn })
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
        .setExpirationTime(`${SIGN_IN_SECONDS}s`)
        .encrypt(key)
      return { signIn, header: cookieHeader({ name, secure }, sealed, SIGN_IN_SECONDS) }
    },
    /** The sign-in of a cookie that is ours and not older than ten minutes, else nothing. */
    async read(cookies: Readonly<Record<string, string | undefined>>): Promise<SignIn | undefined> {
      const value = cookies[cookieName({ name, secure })]
      if (!value) return undefined
      const opened = await jwtDecrypt(value, key).catch(() => undefined)
      return schema.safeParse(opened?.payload).data as SignIn | undefined
    },
    /** The `set-cookie` that makes the browser forget it. */
    forget: cookieHeader({ name, secure }, '', 0),
  }
}
