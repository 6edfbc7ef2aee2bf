import { outbound } from '@guildhall/outbound/fetch'
import { type GuardedOptions, guardedFetch } from '@guildhall/outbound/guarded'

/** So that the whole test ends within 10 s. */
const TIMEOUT_MS = 9_000
const MAX_BYTES = 1024 * 1024
/** The code host refuses requests without one. */
const USER_AGENT = 'Guildhall'
/** Every status is an answer here. */
const ANY_STATUS = Array.from({ length: 300 }, (_, n) => 300 + n)

interface Asked {
  method?: 'GET' | 'POST'
  headers?: Record<string, string>
  body?: string
}
export interface Reached {
  status: number
}
/** One request, answered with whatever status. Throws AppError where nothing answers. */
export type Reach = (url: string, asked: Asked) => Promise<Reached & { text(): string }>

/** For hosts that the operator named. */
export const reachDirectly: Reach = async (url, { headers, ...asked }) => {
  const { status, bytes } = await outbound({
    ...asked,
    service: 'integration',
    url,
    headers: { 'user-agent': USER_AGENT, ...headers },
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_BYTES,
    retries: 0,
    accept: ANY_STATUS,
  })
  return { status, text: () => bytes.toString('utf8') }
}

/** For URLs that an officer gave: on the public internet only. */
export const reachPublic =
  (options: Pick<GuardedOptions, 'allowAddresses'> = {}): Reach =>
  async (url, { headers, ...asked }) => {
    const limits = { timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES, maxRedirects: 0 }
    const sent = { 'user-agent': USER_AGENT, ...headers }
    const { status, bytes } = await guardedFetch(url, {
      ...options,
      ...asked,
      ...limits,
      headers: sent,
    })
    return { status, text: () => bytes.toString('utf8') }
  }
