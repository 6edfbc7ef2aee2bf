import { hash } from 'node:crypto'
import type { Route } from '@guildhall/contracts/route'
import { AppError } from '@guildhall/service/errors'
import { counter, rateClasses, spend, tooMany } from '@guildhall/service/rate'
import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'
import type { Config } from './config.ts'

const SECONDS = 60
const MOST_KNOWN = 10_000

/** What a request comes with, before anything is known of it. */
export interface Arrival {
  /** As sent: the Authorization header, or the session of the cookie. */
  credential: string | undefined
  ip: string
}

/** Whom requests are counted for: a machine token by its id, a person by theirs. */
export type Who = { kind: 'machine' | 'person'; id: string }
interface Outcome {
  /** Auth did not take the code or the token. */
  refused: boolean
  hungUp: boolean
}
export type Limits = ReturnType<typeof createLimits>

/**
 * Counts requests in this gateway's memory (decisions.md § 0, Rate limits): by address until a credential
 * is verified, and then by whom it stands for, so that no spelling of it counts anew. What is counted is
 * counted before it is looked at: a refused request costs as much as a granted one.
 */
export function createLimits(config: Config) {
  const person = counter(config.RATE_CREDENTIAL_PER_MINUTE)
  const machine = counter(config.RATE_MACHINE_PER_MINUTE)
  const spendClass = rateClasses(config)
  const address = counter(config.RATE_ADDRESS_PER_MINUTE)
  const failures = counter(config.RATE_FAILED_SIGN_INS_PER_MINUTE)
  /** Whom a credential stood for when it was last verified. */
  const known = new LRUCache<string, Who>({ max: MOST_KNOWN, ttl: SECONDS * 1000 })

  async function spendFor({ kind, id }: Who, route: Route) {
    await spendClass(route, id)
    await spend(kind === 'machine' ? machine : person, id)
  }

  async function checkFailures(ip: string) {
    const found = await failures?.get(networkOf(ip))
    if (failures && found && found.consumedPoints >= failures.points) throw tooMany(found)
  }

  return {
    /** Before anything is looked at. Throws 429. */
    async arrive({ credential, ip }: Arrival, route: Route) {
      if (route.rate === 'sign_in') await spend(failures, networkOf(ip))
      const who = credential === undefined ? undefined : known.get(keyOf(credential))
      await (who ? spendFor(who, route) : spend(address, networkOf(ip)))
    },

    /** A request that is of no route of the contracts: by its address. Throws 429. */
    other: ({ ip }: Pick<Arrival, 'ip'>) => spend(address, networkOf(ip)),

    /** A credential turned out to be good: from now on it counts for whom it stands. Throws 429. */
    async verified({ credential: sent = '' }: Arrival, route: Route, who: Who) {
      const key = keyOf(sent)
      if (known.has(key)) return
      known.set(key, who)
      await spendFor(who, route)
    },

    /** Counts a refused credential, and throws 429 instead of the refusal once an address has too many. */
    async refused({ credential: sent, ip }: Arrival, error: unknown): Promise<never> {
      const bad = error instanceof AppError && error.kind === 'unauthenticated'
      if (!bad || sent === undefined) throw error
      known.delete(keyOf(sent))
      await checkFailures(ip)
      await failures?.penalty(networkOf(ip))
      throw error
    },

    /**
     * Every request of a sign-in counts as failed from its arrival on, so that many at once do not all slip through,
     * and no longer once it is answered and was not refused. One whose client hung up stays counted.
     */
    async answered({ ip }: Arrival, { rate }: Route, { refused, hungUp }: Outcome) {
      if (rate === 'sign_in' && !refused && !hungUp) await failures?.reward(networkOf(ip))
    },
  }
}

/** What one subscriber holds: an IPv4 address, or the 64 bits that an IPv6 network has at least (RFC 6177). */
export function networkOf(ip: string): string {
  if (!ip.includes(':') || !ipaddr.isValid(ip)) return ip
  const address = ipaddr.process(ip)
  return address.kind() === 'ipv4'
    ? address.toString()
    : `${(address as ipaddr.IPv6).parts.slice(0, 4).join(':')}::/64`
}

const keyOf = (sent: string) => hash('sha256', sent, 'base64url')
