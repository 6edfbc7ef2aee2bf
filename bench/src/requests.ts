import { getModules } from '@guildhall/contracts/orgs'
import { whoami } from '@guildhall/contracts/tokens'
import { CALLER_HEADER, callerKey, signIdentity } from '@guildhall/service/caller-token'
import autocannon from 'autocannon'
import { child, end, median } from './children.ts'

const ROUNDS = 3
const SECONDS = 5
const CONNECTIONS = 32

interface Stack {
  url: string
  settings: Record<string, string>
  /** An officer's access token. */
  token: string
  machineToken: string
}

export interface Row {
  target: string
  perSecond: number
  p50: number
  p99: number
}

/**
 * An officer's `GET /api/organizations/1/modules` (one query): the service alone, behind a bare
 * @fastify/http-proxy, and behind the gateway, each in a process of its own before the same service.
 */
export async function measureRequests({ settings, token, machineToken }: Stack): Promise<Row[]> {
  const path = '/api/organizations/1/modules'
  const service = settings.AUTH_URL ?? ''
  const env = { ...process.env, ...settings, PORT: '0' }
  const [proxy, gateway] = await Promise.all([
    child<string>('./proxy-process.ts', [service], env),
    child<string>('./gateway-process.ts', [], env),
  ])
  const signed = { [CALLER_HEADER]: signedFor(path, settings) }
  const targets = {
    'the service alone': { url: service + path, headers: signed },
    'bare @fastify/http-proxy': { url: proxy.said + path, headers: signed },
    gateway: { url: gateway.said + path, headers: { authorization: `Bearer ${token}` } },
    'gateway, whoami of a machine token': {
      url: gateway.said + whoami.url,
      headers: { authorization: `Bearer ${machineToken}` },
    },
  }
  const rounds: Record<string, Row[]> = {}
  for (let round = -1; round < ROUNDS; round++) {
    for (const [target, request] of Object.entries(targets)) {
      const { requests, latency, non2xx, errors } = await autocannon({
        ...request,
        connections: CONNECTIONS,
        duration: SECONDS,
      })
      if (non2xx + errors > 0) throw new Error(`${target}: ${non2xx} refused, ${errors} errors`)
      const row = { target, perSecond: requests.average, p50: latency.p50, p99: latency.p99 }
      if (round >= 0) rounds[target] = [...(rounds[target] ?? []), row] // the first warms up
    }
  }
  await Promise.all([end(proxy.process), end(gateway.process)])
  return Object.entries(rounds).map(([target, rows]) => ({
    target,
    perSecond: Math.round(median(rows.map((row) => row.perSecond))),
    p50: median(rows.map((row) => row.p50)),
    p99: median(rows.map((row) => row.p99)),
  }))
}

/** What the gateway would sign, made for the whole run. */
function signedFor(path: string, { INTERNAL_KEY = '' }: Record<string, string>) {
  const caller = {
    kind: 'officer' as const,
    superadmin: false,
    chat_user_id: '12345',
    username: 'bench',
    token_id: 'bench',
    expires_at: 0,
  }
  const org = { id: 1, prefix: 'demo', name: 'Demo Club', modules: [], publisher: false }
  const target = { service: getModules.owner, method: 'GET', path }
  const later = Date.now() + 3_600_000
  return signIdentity(
    { caller, org, request_id: 'bench' },
    target,
    callerKey(INTERNAL_KEY, 'auth'),
    later,
  )
}
