import { createClerkClient, verifyToken } from '@clerk/backend'
import { TokenVerificationError, TokenVerificationErrorReason } from '@clerk/backend/errors'
import { AppError } from '@guildhall/service/errors'
import { kept } from '@guildhall/service/kept'
import { decodeProtectedHeader } from 'jose'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { Config } from '../config.ts'
import { sha256 } from '../hash.ts'

/** How far the provider's clock may be from ours. */
const CLOCK_SKEW_MS = 5_000
/** How long an answer is kept, at most to the end of its token (decisions.md § 1). */
const KEPT_MS = 60_000
const MOST_KEPT = 10_000
/** The official client waits for ever. */
const TIMEOUT_MS = 5_000
/** After a key that the provider does not have, the next unknown one waits so long. */
const NEW_KEY_MS = 1_000

const Claims = z.looseObject({
  sub: z.string(),
  exp: z.int(),
  azp: z.string().optional(),
  email: z.string().optional(),
  email_verified: z.boolean().optional(),
})
type Claims = z.output<typeof Claims>

export interface VerifiedIdentity {
  /** The person's id at the provider. */
  subject: string
  /** Primary and verified, in lower case. */
  email: string
  valid_until: Date
}

export type Identities = ReturnType<typeof createIdentities>
type Settings = Pick<
  Config,
  'IDP_SECRET_KEY' | 'IDP_JWT_KEY' | 'IDP_AUTHORIZED_PARTIES' | 'IDP_API_URL'
>

/**
 * The identity provider of the members' site (Clerk). A token counts if its signature, its times (5 s of
 * skew) and its authorized party are right and its person's primary email is verified, by the claims
 * `email` and `email_verified` or else by the provider's API.
 * Throws 401 `identity.invalid`, 403 `identity.email_unverified`, 503 `identity.unavailable` or `identity.not_set_up`.
 */
export function createIdentities(
  config: Settings,
  now: () => Date,
  timeoutMs = TIMEOUT_MS, // tests wait less
) {
  const { IDP_SECRET_KEY: secretKey, IDP_JWT_KEY: jwtKey, IDP_API_URL: apiUrl } = config
  const parties = config.IDP_AUTHORIZED_PARTIES
  const clerk = secretKey ? createClerkClient({ secretKey, apiUrl }) : undefined
  const emails = new LRUCache<string, { email: string }>({
    max: MOST_KEPT,
    ttl: KEPT_MS,
    fetchMethod: async (subject) => ({ email: await primaryEmail(subject) }),
  })
  const keys = providerKeys()
  const known = new LRUCache<string, VerifiedIdentity>({ max: MOST_KEPT, ttl: KEPT_MS })

  function checkSetUp() {
    const missing = [
      ...(secretKey || jwtKey ? [] : ['IDP_SECRET_KEY']),
      ...(parties.length > 0 ? [] : ['IDP_AUTHORIZED_PARTIES']),
    ]
    if (missing.length > 0) throw notSetUp(missing.join(', '))
  }

  async function primaryEmail(subject: string): Promise<string> {
    if (!clerk) throw notSetUp('IDP_SECRET_KEY')
    const user = await answered(clerk.users.getUser(subject), timeoutMs).catch((cause) => {
      if (cause instanceof AppError) throw cause
      throw (cause as { status?: number }).status === 404 ? invalid(cause) : unavailable(cause)
    })
    const primary = user.emailAddresses.find(({ id }) => id === user.primaryEmailAddressId)
    if (primary?.verification?.status !== 'verified') throw unverified()
    return primary.emailAddress.toLowerCase()
  }

  async function claimsOf(token: string): Promise<Claims> {
    const options = {
      ...(jwtKey ? { jwtKey } : { secretKey: secretKey ?? '', apiUrl }),
      authorizedParties: parties,
      clockSkewInMs: CLOCK_SKEW_MS,
    }
    const verify = () => answered(verifyToken(token, options), timeoutMs)
    const payload = await (jwtKey ? verify() : keys.use(keyIdOf(token), verify)).catch((cause) => {
      if (cause instanceof AppError) throw cause
      throw isProviderAway(cause) ? unavailable(cause) : invalid(cause)
    })
    const claims = Claims.safeParse(payload)
    // the library lets a token without a party pass
    if (!claims.success || !parties.includes(claims.data.azp ?? '')) throw invalid()
    return claims.data
  }

  async function check(token: string): Promise<VerifiedIdentity> {
    checkSetUp()
    const claims = await claimsOf(token)
    const subject = claims.sub
    const { email } = claims.email_verified && claims.email ? claims : await kept(emails, subject)
    const valid_until = new Date(Math.min(claims.exp * 1000, now().getTime() + KEPT_MS))
    return { subject, email: String(email).toLowerCase(), valid_until }
  }

  return {
    async verify(token: string): Promise<VerifiedIdentity> {
      const key = sha256(token)
      const before = known.get(key)
      if (before && before.valid_until > now()) return before
      const identity = await check(token)
      known.set(key, identity)
      return identity
    },
  }
}

const AWAY: string[] = [
  TokenVerificationErrorReason.RemoteJWKFailedToLoad,
  TokenVerificationErrorReason.RemoteJWKInvalid,
  TokenVerificationErrorReason.JWKFailedToResolve,
  TokenVerificationErrorReason.RemoteJWKMissing,
]

/** Rejects with `identity.unavailable` where the provider takes too long. */
function answered<T>(asked: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(unavailable(new Error(`no answer in ${timeoutMs} ms`)))
    const timer = setTimeout(late, timeoutMs)
    asked.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/**
 * The official client fetches the provider's keys for every token whose key it does not know. Tokens under a key that never
 * verified one take turns here, and after a key that the provider does not have the next one waits a while.
 */
function providerKeys() {
  const verified = new Set<string>()
  let last: Promise<unknown> = Promise.resolve()
  let missedAt = Number.NEGATIVE_INFINITY
  async function first<T>(kid: string, verify: () => Promise<T>): Promise<T> {
    if (!verified.has(kid) && performance.now() - missedAt < NEW_KEY_MS) throw invalid()
    try {
      const payload = await verify()
      verified.add(kid)
      return payload
    } catch (error) {
      if (reasonOf(error) === TokenVerificationErrorReason.JWKKidMismatch)
        missedAt = performance.now()
      throw error
    }
  }
  return {
    use<T>(kid: string, verify: () => Promise<T>): Promise<T> {
      if (verified.has(kid)) return verify()
      const result = last.then(() => first(kid, verify))
      last = result.catch(() => undefined)
      return result
    },
  }
}

/** The key that a token says it is signed with (RFC 7515 § 4.1.4). */
function keyIdOf(token: string): string {
  try {
    return decodeProtectedHeader(token).kid ?? ''
  } catch {
    return '' // no JWT, which the verification refuses
  }
}

/** The provider did not give its keys; anything else says something of the token. */
const isProviderAway = (error: unknown) => AWAY.includes(reasonOf(error) ?? '')

const reasonOf = (error: unknown) =>
  error instanceof TokenVerificationError ? error.reason : undefined

const invalid = (cause?: unknown) =>
  new AppError(
    'unauthenticated',
    'identity.invalid',
    'The token of the identity provider does not count; sign in again',
    { cause },
  )
const unverified = () =>
  new AppError(
    'forbidden',
    'identity.email_unverified',
    'Verify your primary email with the identity provider first',
  )
const unavailable = (cause?: unknown) =>
  new AppError(
    'unavailable',
    'identity.unavailable',
    'The identity provider does not answer; try again in a minute',
    { cause },
  )
const notSetUp = (names: string) =>
  new AppError(
    'unavailable',
    'identity.not_set_up',
    `The identity provider is not set up: set ${names}`,
  )
