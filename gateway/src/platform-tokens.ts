import { hash } from 'node:crypto'
import { ask } from '@guildhall/bus/calls'
import type { Bus } from '@guildhall/bus/connect'
import { AccessClaims, findSigningKeys } from '@guildhall/contracts/auth'
import { AppError } from '@guildhall/service/errors'
import { createLocalJWKSet, errors, type JSONWebKeySet, jwtVerify } from 'jose'
import { LRUCache } from 'lru-cache'
import type { Revocations } from './revocations.ts'

const MOST_TOKENS = 10_000
/** A token may name a key made since; nobody may make us ask more often. */
const REFETCH_MS = 5_000
/** How long a key may go on after auth no longer publishes it. */
const KEYS_MS = 60_000

/** Auth's public keys, and the `kid` of each. */
type Keys = ReturnType<typeof keysOf>
/** What a token says, and the `kid` of the key that verified it. */
type Verified = Awaited<ReturnType<typeof checkWith>>

export type PlatformTokens = ReturnType<typeof createPlatformTokens>

/**
 * Verifies access tokens (RFC 7519, RS256) here, with auth's public keys. These are asked for every minute, and
 * each time that auth was silent: what a key verified counts for as long as the key. Ends with `signal`.
 */
export function createPlatformTokens(
  bus: Bus,
  revocations: Pick<Revocations, 'has' | 'onHearingAgain'>,
  signal: AbortSignal,
  keysMs = KEYS_MS, // tests wait less
) {
  const kept = new LRUCache<string, Verified>({ max: MOST_TOKENS })
  let keys: Keys | undefined
  let fetching: Promise<Keys> | undefined
  let fetchedAt = 0
  const timer = setInterval(renew, keysMs)
  signal.addEventListener('abort', () => clearInterval(timer))
  revocations.onHearingAgain(renew)

  /** Throws 403 `token.expired` for a good token past its end and 401 for any other that does not count. */
  async function verify(token: string): Promise<AccessClaims> {
    const key = hash('sha256', token, 'base64url')
    const before = kept.get(key)
    const verified = before && keys?.kids.has(before.kid) ? before : await check(token)
    const { claims } = verified
    if (claims.exp * 1000 <= Date.now()) throw expired(claims)
    if (await revocations.has(claims.jti)) throw unauthenticated()
    kept.set(key, verified)
    return claims
  }

  async function check(token: string): Promise<Verified> {
    try {
      return await checkWith(keys ?? (await fetchKeys()), token)
    } catch (error) {
      const mayBeNew = fetching !== undefined || Date.now() - fetchedAt >= REFETCH_MS
      if (!(error instanceof errors.JWKSNoMatchingKey) || !mayBeNew) throw refusal(error)
      return checkWith(await fetchKeys(), token).catch((again) => {
        throw refusal(again)
      })
    }
  }

  /** Those known go on meanwhile, and also where auth does not answer. */
  function renew() {
    fetchKeys().catch((error) => bus.log.debug({ err: error }, 'The keys cannot be asked for yet'))
  }

  function fetchKeys(): Promise<Keys> {
    fetching ??= ask(bus, findSigningKeys, {})
      .then((set) => {
        keys = keysOf(set as JSONWebKeySet)
        return keys
      })
      .finally(() => {
        fetchedAt = Date.now()
        fetching = undefined
      })
    return fetching
  }
  return { verify }
}

const keysOf = (set: JSONWebKeySet) => ({
  find: createLocalJWKSet(set),
  kids: new Set(set.keys.map(({ kid }) => kid)),
})

async function checkWith({ find }: Keys, token: string) {
  const { payload, protectedHeader } = await jwtVerify(token, find, { algorithms: ['RS256'] })
  return { claims: AccessClaims.parse(payload), kid: protectedHeader.kid }
}

function refusal(error: unknown) {
  if (error instanceof errors.JWTExpired) return expired(error.payload)
  return error instanceof AppError ? error : unauthenticated(error)
}

/** An app token has nothing to be refreshed with. */
const expired = ({ type }: Record<string, unknown>) =>
  type === 'app'
    ? unauthenticated()
    : new AppError(
        'forbidden',
        'token.expired',
        'The token has expired: refresh it with POST /api/auth/refresh',
      )

export const unauthenticated = (cause?: unknown) =>
  new AppError('unauthenticated', 'token.invalid', 'Send Authorization: Bearer and a valid token', {
    cause,
  })
