import { type Call, subjectOfCall } from '@guildhall/contracts/call'
import {
  AppError,
  type Detail,
  databaseAway,
  isDatabaseAway,
  type Kind,
} from '@guildhall/service/errors'
import { callSeconds } from '@guildhall/service/metrics'
import {
  currentTrace,
  inTrace,
  ofOrg,
  TRACEPARENT,
  traceFrom,
  traceparent,
} from '@guildhall/service/trace'
import { traceStep } from '@guildhall/service/tracker'
import {
  headers,
  type Msg,
  NoRespondersError,
  RequestError,
  TimeoutError,
} from '@nats-io/nats-core'
import type { z } from 'zod'
import type { Bus } from './connect.ts'

const DEADLINE_MS = 2_000
const REQUEST_ID = 'Guildhall-Request-Id'

interface Problem {
  kind: Kind
  code: string
  message: string
  details?: Detail[]
  retryAfter?: number
}

/** What goes over the wire as the answer to a call. */
type Answered = { value: unknown } | { problem: Problem }

/**
 * Asks another service and waits for its answer. Throws what the other threw, or `unavailable` when
 * nobody answers within the call's deadline: the outcome of a writing call is then unknown.
 */
export async function ask<C extends Call>(
  bus: Bus,
  call: C,
  args: z.input<C['args']>,
  { request_id }: { request_id?: string } = {},
): Promise<z.output<C['reply']>> {
  const sent = headers()
  if (request_id) sent.set(REQUEST_ID, request_id)
  const parent = traceparent()
  if (parent) sent.set(TRACEPARENT, parent)
  const body = JSON.stringify(call.args.parse(args))
  const timeout = call.deadlineMs ?? DEADLINE_MS
  const message = await bus.nats
    .request(subjectOfCall(call), body, { timeout, headers: sent })
    .catch((cause) => {
      throw unanswered(call, cause)
    })
  const answered = message.json<Answered>()
  if ('value' in answered) return call.reply.parse(answered.value) as z.output<C['reply']>
  const { kind, code, message: text, ...options } = answered.problem
  throw new AppError(kind, code, text, options)
}

type Handle<C extends Call> = (
  args: z.output<C['args']>,
  from: { request_id: string | undefined },
) => Promise<z.input<C['reply']>>

/** Answers a call: with what the handler returns, or with the AppError it throws. Replicas share the work. */
export function answer<C extends Call>(bus: Bus, call: C, handle: Handle<C>) {
  bus.nats.subscribe(subjectOfCall(call), {
    queue: call.service,
    callback: (error, message) => {
      if (error) bus.log.error({ err: error, call: call.name }, 'A call could not be heard')
      else void inTrace(traceOf(message), () => respond(bus, call, handle, message))
    },
  })
}

const traceOf = ({ headers: sent }: Msg) => traceFrom(sent?.get(TRACEPARENT))

async function respond<C extends Call>(bus: Bus, call: C, handle: Handle<C>, message: Msg) {
  const request_id = message.headers?.get(REQUEST_ID) || undefined
  const answeredIn = callSeconds.startTimer({ service: call.service, call: call.name })
  try {
    const args = parseArgs(call, message)
    ofOrg(orgOf(args))
    const answered: Answered = { value: call.reply.parse(await handle(args, { request_id })) }
    message.respond(JSON.stringify(answered)) // throws where the answer is longer than NATS takes
    const seconds = answeredIn({ outcome: 'answered' })
    const trace = currentTrace()
    if (trace) traceStep({ trace, name: call.name, op: 'rpc', service: call.service, seconds })
    bus.log.debug({ call: call.name, reqId: request_id, ms: Math.round(seconds * 1000) }, 'call')
  } catch (thrown) {
    const answered = { problem: problemOf(bus, call, thrown, request_id) } satisfies Answered
    answeredIn({ outcome: answered.problem.kind })
    if (!bus.nats.isClosed()) message.respond(JSON.stringify(answered))
  }
}

function parseArgs<C extends Call>(call: C, message: Msg) {
  const parsed = call.args.safeParse(jsonOf(message))
  if (parsed.success) return parsed.data as z.output<C['args']>
  const details = parsed.error.issues.map(({ path, message: text }) => ({
    path: `/${path.join('/')}`,
    message: text,
  }))
  const said = details.map(({ path, message: text }) => `${path}: ${text}`).join('; ')
  throw new AppError('invalid', 'call.invalid', `${call.name}: ${said}`, { details })
}

/** The org that a call names, by its id or as tools and the bot do: whole. */
function orgOf(args: unknown): number | undefined {
  const { org_id, org } = args as { org_id?: unknown; org?: { id?: unknown } }
  const id = org_id ?? org?.id
  return typeof id === 'number' ? id : undefined
}

/** What is no JSON is nothing, which no call takes for its arguments. */
function jsonOf(message: Msg): unknown {
  try {
    return message.json()
  } catch {
    return undefined
  }
}

function problemOf(bus: Bus, call: Call, error: unknown, request_id: string | undefined): Problem {
  const thrown = isDatabaseAway(error) ? databaseAway(error) : error
  if (thrown instanceof AppError) {
    const { kind, code, message, details, retryAfter } = thrown
    return {
      kind,
      code,
      message,
      ...(details && { details: [...details] }),
      ...(retryAfter !== undefined && { retryAfter }),
    }
  }
  bus.log.error({ err: thrown, call: call.name, reqId: request_id }, 'A call failed')
  return {
    kind: 'unavailable',
    code: `${call.service}.failed`,
    message: `${call.service} could not answer`,
  }
}

/**
 * True for what `ask` threw where the other may have heard, and nobody said what became of it. False where it refused,
 * and where there was nobody to hear.
 */
export function isUnanswered(thrown: unknown): boolean {
  const cause = thrown instanceof AppError ? thrown.cause : undefined
  if (cause instanceof RequestError) return !cause.isNoResponders()
  return cause instanceof TimeoutError
}

function unanswered(call: Call, cause: unknown) {
  const gone =
    cause instanceof TimeoutError ||
    cause instanceof NoRespondersError ||
    cause instanceof RequestError
  const message = gone
    ? `${call.service} does not answer at the moment; try again`
    : `${call.service} cannot be asked at the moment; try again`
  return new AppError('unavailable', `${call.service}.unreachable`, message, { cause })
}
