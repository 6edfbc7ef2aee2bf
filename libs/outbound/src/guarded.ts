import dns from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { AppError } from '@guildhall/service/errors'
import ipaddr from 'ipaddr.js'
import { Agent, buildConnector, fetch, type Response } from 'undici'
import { BodyTooLarge, readBody } from './body.ts'

/** Crawl limits of decisions.md § 3. */
const TIMEOUT_MS = 30_000
const MAX_BYTES = 10 * 1024 * 1024
const MAX_REDIRECTS = 5
const REDIRECTS = [301, 302, 303, 307, 308]
const NONE = Buffer.alloc(0)
/** Never carried to another origin. */
const PRIVATE_HEADERS = ['authorization', 'cookie', 'proxy-authorization']
/** Public by their number, and yet of the cloud machine's own host: Azure's WireServer. */
const NEVER = ['168.63.129.16']
/** The only IPv6 block that is routed on the internet (RFC 4291, IANA); leaves out, say, ::127.0.0.1. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3')

export interface GuardedOptions {
  method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  headers?: Record<string, string>
  body?: string | Uint8Array
  /** Of the whole request with all its redirects. */
  timeoutMs?: number
  /** Longest answer after decompression. */
  maxBytes?: number
  /** `manual`: a redirect is an answer without a body, and whoever follows it asks again. */
  redirect?: 'follow' | 'manual'
  /** Redirects followed, for GET and HEAD only. Any other redirect is an error. */
  maxRedirects?: number
  signal?: AbortSignal
  /** Networks (CIDR) that are refused although they are public, such as the operator's own. */
  blockedNetworks?: readonly string[]
  /** Addresses taken for public, also in blocked networks. Only tests set it. */
  allowAddresses?: readonly string[]
  /** Resolves names. Only tests set it. */
  lookup?: Lookup
}

/** Resolves a name to all its addresses, like `dns.lookup` with `all: true`. */
export type Lookup = (
  hostname: string,
  callback: (error: Error | null, addresses: { address: string; family: number }[]) => void,
) => void

export interface GuardedAnswer {
  status: number
  /** Where the redirects ended. */
  url: string
  headers: { get(name: string): string | null }
  bytes: Buffer
}

/**
 * Fetches a URL that a user or a page gave, from the public internet only: http(s), no credentials in the URL, every address
 * the name resolves to public, connected to exactly the address that was checked, and each redirect checked alike.
 * Any status is an answer. Throws AppError('invalid', 'url.malformed | not_allowed') for a URL that may not be fetched,
 * AppError('upstream', 'url.unreachable | timeout | too_large | redirected') for one that does not work.
 */
export async function guardedFetch(
  url: string,
  options: GuardedOptions = {},
): Promise<GuardedAnswer> {
  const { timeoutMs = TIMEOUT_MS, maxBytes = MAX_BYTES, lookup = lookupAll } = options
  const timeout = AbortSignal.timeout(timeoutMs)
  const signal = options.signal ? AbortSignal.any([options.signal, timeout]) : timeout
  const start = checkedUrl(url)
  const agent = guardedAgent(lookup, allowedBy(options))
  try {
    const { response, target } = await follow(start, options, agent, signal)
    if (options.redirect === 'manual' && redirectOf(response, target)) {
      await response.body?.cancel()
      return { status: response.status, url: target.href, headers: response.headers, bytes: NONE }
    }
    const bytes = await readBody(response, maxBytes)
    return { status: response.status, url: target.href, headers: response.headers, bytes }
  } catch (error) {
    throw explained(error, start, timeout.aborted ? timeoutMs : null, maxBytes)
  } finally {
    await agent.destroy()
  }
}

/**
 * Throws as guardedFetch does unless the URL may be fetched and its name resolves to public addresses only. For URLs that
 * somebody else is asked to fetch: by then the name may have another address.
 */
export async function checkPublic(
  url: string,
  options: Pick<GuardedOptions, 'allowAddresses' | 'blockedNetworks' | 'lookup'>,
): Promise<void> {
  const { lookup = lookupAll } = options
  const target = checkedUrl(url)
  const literal = literalOf(target.hostname)
  const addresses = isIP(literal) ? [literal] : await addressesOf(target, lookup)
  if (!addresses.every(allowedBy(options))) throw notPublic(target.hostname, addresses)
}

function addressesOf({ hostname, host }: URL, lookup: Lookup): Promise<string[]> {
  return new Promise((resolve, reject) =>
    lookup(hostname, (error, found) => {
      if (error || found.length === 0) reject(unreachable(host, error ?? undefined))
      else resolve(found.map(({ address }) => address))
    }),
  )
}

const literalOf = (hostname: string) => hostname.replace(/^\[|\]$/g, '')

/** Whether an address belongs to the public internet: not private, loopback, link-local, shared, mapped to such or reserved. */
export function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  if (parsed.range() !== 'unicast' || NEVER.includes(parsed.toString())) return false
  return parsed.kind() === 'ipv4' || parsed.match(GLOBAL_IPV6)
}

const allowedBy =
  ({ allowAddresses = [], blockedNetworks = [] }: GuardedOptions) =>
  (address: string): boolean =>
    allowAddresses.includes(address) || (isPublic(address) && !isWithin(address, blockedNetworks))

/** Whether a valid address lies in one of the networks, given in CIDR notation. */
function isWithin(address: string, networks: readonly string[]): boolean {
  const parsed = ipaddr.process(address)
  return networks.some((network) => {
    const [base, bits] = ipaddr.parseCIDR(network)
    return base.kind() === parsed.kind() && parsed.match(base, bits)
  })
}

/**
 * Whether it is a network in CIDR notation, written as everybody reads it: `192.0.2.0/24`, `2001:db8::/32`. Not `10/8`, which
 * would mean 0.0.0.10/8, no octal parts, and no IPv4 in IPv6, which no address is compared with.
 */
export function isNetwork(text: string): boolean {
  if (!ipaddr.isValidCIDR(text)) return false
  const [address = ''] = text.split('/')
  if (isIP(address) !== 6) return isIP(address) === 4
  return !ipaddr.IPv6.parse(address).isIPv4MappedAddress()
}

const lookupAll: Lookup = (hostname, callback) =>
  dns.lookup(hostname, { all: true }, (error, addresses) => callback(error, addresses ?? []))

/** The connection's own lookup is the check, so a name cannot change its address between the two. */
function guardedAgent(lookup: Lookup, allowed: (address: string) => boolean): Agent {
  const checkedLookup: LookupFunction = (hostname, { all }, callback) =>
    lookup(hostname, (error, addresses) => {
      const [first] = addresses
      if (error || !first) return callback(error ?? new Error('The name has no address'), '')
      if (!addresses.every(({ address }) => allowed(address)))
        return callback(
          notPublic(
            hostname,
            addresses.map(({ address }) => address),
          ),
          '',
        )
      return all ? callback(null, addresses) : callback(null, first.address, first.family)
    })
  const connect = buildConnector({ lookup: checkedLookup })
  return new Agent({
    connect(options, callback) {
      const literal = literalOf(options.hostname) // literal addresses are never looked up
      if (isIP(literal) && !allowed(literal)) return callback(notPublic(literal, [literal]), null)
      connect(options, callback)
    },
  })
}

async function follow(start: URL, options: GuardedOptions, agent: Agent, signal: AbortSignal) {
  const { method = 'GET', body, maxRedirects = MAX_REDIRECTS } = options
  const followed = ['GET', 'HEAD'].includes(method)
  let target = start
  for (let redirects = 0; ; redirects++) {
    const headers =
      target.origin === start.origin ? options.headers : withoutPrivate(options.headers)
    const response = await fetch(target, {
      method,
      redirect: 'manual',
      dispatcher: agent,
      signal,
      ...(headers && { headers }),
      ...(body !== undefined && { body }),
    }).catch((error) => {
      throw redirects > 0 ? ledInside(start, error) : error
    })
    const next = redirectOf(response, target)
    if (!next || options.redirect === 'manual') return { response, target }
    await response.body?.cancel()
    if (!followed) throw upstream('redirected', `${start.host} redirects a ${method} request`)
    if (redirects >= maxRedirects)
      throw upstream('redirected', `${start.host} redirects more than ${maxRedirects} times`)
    target = checkedUrl(next)
  }
}

function redirectOf(response: Response, from: URL): string | null {
  const location = REDIRECTS.includes(response.status) ? response.headers.get('location') : null
  if (!location) return null
  return URL.parse(location, from)?.href ?? location
}

function withoutPrivate(headers: Record<string, string> = {}): Record<string, string> {
  const kept = Object.entries(headers).filter(
    ([name]) => !PRIVATE_HEADERS.includes(name.toLowerCase()),
  )
  return Object.fromEntries(kept)
}

/** The URL, if it is one of http or https without credentials. Throws `url.malformed` or `url.not_allowed`. */
export function checkedUrl(text: string): URL {
  const url = URL.parse(text)
  if (!url)
    throw new AppError(
      'invalid',
      'url.malformed',
      'This is not a URL. Accepted is a whole http or https URL.',
    )
  if (!/^https?:$/.test(url.protocol)) throw notAllowed('only http and https URLs are fetched')
  if (url.username || url.password) throw notAllowed('a URL must not hold a user name or password')
  return url
}

const notAllowed = (why: string, cause?: unknown) =>
  new AppError(
    'invalid',
    'url.not_allowed',
    `This URL is not fetched: ${why}`,
    cause ? { cause } : {},
  )
/** Where a name leads is for the log (`cause`); whoever gave the URL learns no inner address. */
const notPublic = (host: string, addresses: readonly string[]) =>
  notAllowed(
    `${host} is not on the public internet`,
    new Error(`${host} has the addresses ${addresses.join(', ')}`),
  )

/** What is said of a redirect to where nobody may look: neither that address nor its name. Any other error stays as it is. */
export function ledInside({ host }: URL, error: unknown): unknown {
  if (!isRefusal(error)) return error
  return notAllowed(`${host} leads to an address that is not on the public internet`, error)
}

/** Whether it, or what caused it, refuses an address. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return (error instanceof AppError && error.code === 'url.not_allowed') || isRefusal(error.cause)
}

const unreachable = (host: string, cause: unknown) =>
  upstream('unreachable', `${host} could not be reached`, cause)
const upstream = (reason: string, message: string, cause?: unknown) =>
  new AppError('upstream', `url.${reason}`, message, cause ? { cause } : {})

function explained(
  error: unknown,
  { host }: URL,
  timeoutMs: number | null,
  maxBytes: number,
): AppError {
  const refusal = appErrorIn(error)
  if (refusal) return refusal
  if (error instanceof BodyTooLarge)
    return upstream('too_large', `${host} sent more than ${maxBytes} bytes`, error)
  if (timeoutMs !== null)
    return upstream('timeout', `${host} did not answer within ${timeoutMs} ms`, error)
  return unreachable(host, error)
}

/** fetch wraps what the connection threw. */
function appErrorIn(error: unknown): AppError | null {
  if (error instanceof AppError) return error
  return error instanceof Error && error.cause ? appErrorIn(error.cause) : null
}
