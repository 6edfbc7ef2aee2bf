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

export type PlatformTokens = ReturnType<typeof createPlatformTokens>

/** Verifies access tokens (RFC 7519, RS256) here, with auth's public keys. */
export function createPlatformTokens(bus: Bus, revocations: Revocations) {
  const claims = new LRUCache<string, AccessClaims>({ max: MOST_TOKENS })
  let keys: Promise<ReturnType<typeof createLocalJWKSet>> | undefined
  let fetchedAt = 0

  /** Throws 403 `token.expired` for a good token past its end and 401 for any other that does not count. */
  async function verify(token: string): Promise<AccessClaims> {
    const key = hash('sha256', token, 'base64url')
    const known = claims.get(key) ?? (await check(token))
    if (known.exp * 1000 <= Date.now()) throw expired(known)
    if (await revocations.has(known.jti)) throw unauthenticated()
    claims.set(key, known)
    return known
  }

  async function check(token: string): Promise<AccessClaims> {
    try {
      return await checkWith(await currentKeys(), token)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || Date.now() - fetchedAt < REFETCH_MS)
        throw refusal(error)
      keys = undefined
      return checkWith(await currentKeys(), token).catch((again) => {
        throw refusal(again)
      })
    }
  }

  function currentKeys() {
    keys ??= fetchKeys()
    return keys
  }

  function fetchKeys() {
    fetchedAt = Date.now()
    const fetched = ask(bus, findSigningKeys, {}).then((set) =>
      createLocalJWKSet(set as JSONWebKeySet),
    )
    fetched.catch(() => {
      keys = undefined
    })
    return fetched
  }
  return { verify }
}

async function checkWith(keys: ReturnType<typeof createLocalJWKSet>, token: string) {
  const { payload } = await jwtVerify(token, keys, { algorithms: ['RS256'] })
  return AccessClaims.parse(payload)
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
