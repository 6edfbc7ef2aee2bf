import { setTimeout as wait } from 'node:timers/promises'
import { exportSPKI, importJWK, type JWK } from 'jose'

/** The provider is asked for its keys at most this often, whatever tokens come. */
const ASK_MS = 1_000
/** A key that the provider took back counts no longer than this. */
const KEPT_MS = 5 * 60_000

/**
 * The public keys of the identity provider, as PEM by id. For an id that is not known the provider is asked
 * anew; whoever waits for that shares one question, so that tokens under invented ids take nobody's turn.
 * Rejects with what `ask` rejects with.
 */
export function createProviderKeys(ask: () => Promise<JWK[]>) {
  let known = new Map<string, string>()
  /** When the question was asked whose answer is known. */
  let knownAt = Number.NEGATIVE_INFINITY
  let askedAt = Number.NEGATIVE_INFINITY
  let next: Promise<void> | undefined

  async function askAgain() {
    await wait(Math.max(0, askedAt + ASK_MS - performance.now()), undefined, { ref: false })
    next = undefined // a key may be newer than this answer: who comes from here on waits for the next
    const at = performance.now()
    askedAt = at
    const keys = (await ask()).filter(({ kty }) => kty === 'RSA')
    const pems = await Promise.all(keys.map(pemOf))
    if (at < knownAt) return // a later question was answered sooner
    known = new Map(pems)
    knownAt = at
  }

  return {
    /** Nothing where the provider has no such key. */
    async find(id: string): Promise<string | undefined> {
      if (id === '') return undefined
      const fresh = performance.now() - knownAt < KEPT_MS
      if (fresh && known.has(id)) return known.get(id)
      next ??= askAgain()
      await next
      return known.get(id)
    },
  }
}

async function pemOf(jwk: JWK): Promise<[string, string]> {
  const key = await importJWK(jwk, 'RS256')
  return [jwk.kid ?? '', await exportSPKI(key as CryptoKey)]
}
