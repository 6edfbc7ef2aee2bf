import type { KeyObject } from 'node:crypto'
import { pathOf } from '@guildhall/contracts/client'
import type { Service } from '@guildhall/contracts/names'
import type { OrgRef, Problem, Route } from '@guildhall/contracts/route'
import {
  callOf,
  MOST_ANSWER_BYTES,
  type Tool,
  type ToolArgs,
  type ToolReply,
} from '@guildhall/contracts/tool'
import { tools } from '@guildhall/contracts/tools'
import type { App } from '@guildhall/service/app'
import { CALLER_HEADER, signIdentity } from '@guildhall/service/caller-token'
import { AppError, type Kind, STATUS } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import { TRACEPARENT, traceparent } from '@guildhall/service/trace'
import { answer } from './calls.ts'
import type { Bus } from './connect.ts'

/** What a route says where it answered without a service (decisions.md § 2). */
const DEGRADED_HEADER = 'x-degraded'

interface Frame {
  service: Service
  bus: Bus
  /** The service's own: it tells itself who asks, as the gateway would. */
  callerKey: KeyObject
}

/**
 * Answers the tools of a service. Each is a request to its own front door, so that everything is checked as for
 * anybody else; whatever mcp says, the scope and the module are looked at again here.
 */
export function answerTools(frame: Frame, app: App) {
  for (const tool of tools.filter(({ route }) => route.owner === frame.service)) {
    answer(frame.bus, callOf(tool), async (args, { request_id = newId() }) => {
      if (!isAllowed(tool, args)) throw notAllowed(tool)
      return run({ ...frame, app, request_id }, tool, args)
    })
  }
}

const isAllowed = ({ scope, route }: Tool, { caller, org }: ToolArgs) =>
  caller.scopes.includes(scope) && (!route.module || org.modules.includes(route.module))

interface Door extends Frame {
  app: App
  request_id: string
}

function run(door: Door, tool: Tool, args: ToolArgs): Promise<ToolReply> {
  const { route, confirm } = tool
  if (!confirm || !args.preview) return send(door, tool, route, args)
  if (confirm.dry_run)
    return send(door, tool, route, { ...args, input: { ...args.input, dry_run: true } })
  return confirm.shows ? show(door, tool, confirm.shows, args) : Promise.resolve({ answer: null })
}

/** What there is before a tool has changed it, or why that cannot be shown. */
async function show(door: Door, tool: Tool, route: Route, args: ToolArgs): Promise<ToolReply> {
  try {
    return await send(door, tool, route, args)
  } catch (thrown) {
    if (!(thrown instanceof AppError) || !tool.confirm?.despite?.includes(thrown.code)) throw thrown
    return { answer: { error: thrown.message, code: thrown.code } }
  }
}

async function send(door: Door, tool: Tool, route: Route, args: ToolArgs): Promise<ToolReply> {
  const { app, service, callerKey, request_id } = door
  const { caller, org, input, idempotency_key } = args
  const { body, ...parts } = requestOf(route, org, input)
  const path = pathOf(route, parts)
  const identity = {
    caller: { kind: 'machine' as const, ...caller, tool: tool.name },
    org,
    request_id,
  }
  const signed = signIdentity(identity, { service, method: route.method, path }, callerKey)
  const {
    statusCode,
    headers,
    body: text,
  } = await app.inject({
    method: route.method,
    url: path,
    headers: {
      [CALLER_HEADER]: signed,
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
  if (Buffer.byteLength(text) > MOST_ANSWER_BYTES) throw tooLarge(tool)
  const degraded = headers[DEGRADED_HEADER]
  return { answer: said, ...(degraded !== undefined && { degraded: String(degraded) }) }
}

/** The fields of a tool, where its route has them. What is neither in the path nor in the query is the body's. */
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

const notAllowed = ({ name }: Tool) =>
  new AppError('forbidden', 'tool.not_allowed', `This token may not use ${name}`)

const tooLarge = ({ name }: Tool) =>
  new AppError(
    'too_large',
    'tool.answer_too_large',
    `The answer of ${name} is longer than ${MOST_ANSWER_BYTES} bytes; ask for less, by limit, top_k, offset or a smaller file`,
  )
