import { createHash } from 'node:crypto'
import { subkey } from '@guildhall/outbound/sealed'
import { EncryptJWT, jwtDecrypt } from 'jose'
import { z } from 'zod'
import { randomValue } from '../hash.ts'

/** Seconds in which a sign-in must come back (decisions.md § 0). */
export const SIGN_IN_SECONDS = 600

const SignIn = z.object({
  client: z.enum(['dashboard', 'client']),
  state: z.string(),
  /** The PKCE verifier (RFC 7636). */
  verifier: z.string(),
})
export type SignIn = z.output<typeof SignIn>

export const newSignIn = (client: SignIn['client']): SignIn => ({
  client,
  state: randomValue(),
  verifier: randomValue(),
})

/** The PKCE challenge of a verifier, method S256 (RFC 7636 § 4.2). */
export const challengeOf = (verifier: string) =>
  createHash('sha256').update(verifier).digest('base64url')

/** A sign-in under way as a cookie value: encrypted (JWE, A256GCM), so that the verifier stays ours. */
export function sealSignIn(signIn: SignIn, secretKey: string): Promise<string> {
  return new EncryptJWT({ ...signIn })
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
    .setExpirationTime(`${SIGN_IN_SECONDS}s`)
    .encrypt(subkey(secretKey, 'sign-in cookie'))
}

/** The sign-in of a cookie that is ours and not older than ten minutes, else nothing. */
export async function openSignIn(
  value: string | undefined,
  secretKey: string,
): Promise<SignIn | undefined> {
  if (!value) return undefined
  const opened = await jwtDecrypt(value, subkey(secretKey, 'sign-in cookie')).catch(() => undefined)
  return SignIn.safeParse(opened?.payload).data
}
