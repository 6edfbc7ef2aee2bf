import { createClerkClient, verifyToken } from '@clerk/backend'
import { AppError } from '@guildhall/service/errors'
import { kept } from '@guildhall/service/kept'
import { decodeProtectedHeader } from 'jose'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { Config } from '../config.ts'
import { sha256 } from '../hash.ts'
import { createProviderKeys } from './provider-keys.ts'

/** How far the provider's clock may be from ours. */
const CLOCK_SKEW_MS = 5_000
/** How long an answer is kept, at most to the end of its token (decisions.md § 1). */
const KEPT_MS = 60_000
const MOST_KEPT = 10_000
/** The official client waits for ever. */
const TIMEOUT_MS = 5_000

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
  const keys = createProviderKeys(async () => {
    if (!clerk) throw notSetUp('IDP_SECRET_KEY')
    return (await answered(clerk.jwks.getJwks(), timeoutMs).catch(rethrown(unavailable))).keys ?? []
  })
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
    const key = jwtKey ?? (await keys.find(keyIdOf(token)))
    if (key === undefined) throw invalid()
    const options = { jwtKey: key, authorizedParties: parties, clockSkewInMs: CLOCK_SKEW_MS }
    const payload = await verifyToken(token, options).catch(rethrown(invalid))
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

/** Rejects with `identity.unavailable` where the provider takes too long. */
function answered<T>(asked: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(unavailable(new Error(`no answer in ${timeoutMs} ms`)))
    const timer = setTimeout(late, timeoutMs)
    asked.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** The key that a token says it is signed with (RFC 7515 § 4.1.4). */
function keyIdOf(token: string): string {
  try {
    return decodeProtectedHeader(token).kid ?? ''
  } catch {
    return '' // no JWT, which the verification refuses
  }
}

/** For `catch`: throws a refusal of ours as it is, and any other error as what `meaning` makes of it. */
const rethrown = (meaning: (cause: unknown) => AppError) => (cause: unknown) => {
  throw cause instanceof AppError ? cause : meaning(cause)
}

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
