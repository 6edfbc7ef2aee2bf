import type { KeyObject } from 'node:crypto'
import type { Caller } from '@guildhall/contracts/caller'
import { pathOf } from '@guildhall/contracts/client'
import type { Service } from '@guildhall/contracts/names'
import type { OrgRef, Problem, Route } from '@guildhall/contracts/route'
import type { App } from '@guildhall/service/app'
import { CALLER_HEADER, signIdentity } from '@guildhall/service/caller-token'
import { AppError, type Kind, STATUS } from '@guildhall/service/errors'
import { TRACEPARENT, traceparent } from '@guildhall/service/trace'
import type { Bus } from './connect.ts'

/** What a route says where it answered without a service (decisions.md § 2). */
const DEGRADED_HEADER = 'x-degraded'

export interface Frame {
  service: Service
  bus: Bus
  /** The service's own: it tells itself who asks, as the gateway would. */
  callerKey: KeyObject
}

export interface Door extends Omit<Frame, 'bus'> {
  app: App
  request_id: string
}

interface Asking {
  caller: Caller
  org: OrgRef
  /** The fields of the route: those of its path, query and body side by side. */
  input: Record<string, unknown>
  idempotency_key?: string | undefined
}

/**
 * A request of a service to its own front door, for somebody who came over NATS: the route's rules, its transaction and
 * its audit line are those of everybody else. Throws what the route refused.
 */
export async function askFrontDoor(
  { app, service, callerKey, request_id }: Door,
  route: Route,
  { caller, org, input, idempotency_key }: Asking,
): Promise<{ answer: unknown; bytes: number; degraded?: string }> {
  const { body, ...parts } = requestOf(route, org, input)
  const path = pathOf(route, parts)
  const target = { service, method: route.method, path }
  const {
    statusCode,
    headers,
    body: text,
  } = await app.inject({
    method: route.method,
    url: path,
    headers: {
      [CALLER_HEADER]: signIdentity({ caller, org, request_id }, target, callerKey),
      [TRACEPARENT]: traceparent(),
      ...(body && { 'content-type': 'application/json' }),
      ...(idempotency_key !== undefined && { 'idempotency-key': idempotency_key }),
    },
    ...(body && { payload: JSON.stringify(body) }),
  })
  const said: unknown = JSON.parse(text)
  if (statusCode >= 400) {
    const retryAfter = Number(headers['retry-after']) || undefined
    throw refusal(statusCode, said as Problem, { service, retryAfter })
  }
  const degraded = headers[DEGRADED_HEADER]
  const bytes = Buffer.byteLength(text)
  return { answer: said, bytes, ...(degraded !== undefined && { degraded: String(degraded) }) }
}

/** The given fields, where the route has them. What is neither in the path nor in the query is the body's. */
export function requestOf(route: Route, org: OrgRef, input: Record<string, unknown>) {
  const ofOrg = { org: org.prefix, org_id: org.id }
  const named = (shape: object = {}) => Object.keys(shape)
  const all: Record<string, unknown> = { ...input, ...ofOrg }
  const pick = (names: string[]) => Object.fromEntries(names.map((name) => [name, all[name]]))
  const [inPath, inQuery] = [named(route.params?.shape), named(route.query?.shape)]
  const rest = Object.entries(input).filter(([name]) => ![...inPath, ...inQuery].includes(name))
  return {
    params: pick(inPath),
    query: pick(inQuery),
    body: route.body && Object.fromEntries(rest),
  }
}

/** What the front door refused, as calls refuse. Paths name arguments, not parts of a request. */
function refusal(
  status: number,
  { error, code, details }: Problem,
  { service, retryAfter }: { service: Service; retryAfter: number | undefined },
) {
  const kind = (Object.keys(STATUS) as Kind[]).find((one) => STATUS[one] === status)
  if (!kind) return new AppError('unavailable', `${service}.failed`, `${service} could not answer`)
  const plain = (text: string) => text.replace(/(^|; )\/(?:body|path|query)(?:: |$|(?=\/))/g, '$1')
  return new AppError(kind, code, plain(error), {
    ...(retryAfter && { retryAfter }),
    ...(details && { details: details.map((one) => ({ ...one, path: plain(one.path) })) }),
  })
}
