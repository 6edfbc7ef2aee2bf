import { once } from 'node:events'
import { type Agent, type IncomingMessage, request } from 'node:http'
import { pipeline, type Readable } from 'node:stream'
import { MEBIBYTE, type Route } from '@guildhall/contracts/route'
import { AppError } from '@guildhall/service/errors'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** RFC 9110 7.6.1, and `expect`, which Node has already answered. */
const HOP_BY_HOP = [
  'connection',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]
const NOT_FOR_SERVICES = ['host', 'authorization', 'cookie', 'traceparent', 'tracestate', 'baggage']

interface To {
  route: Route
  agent: Agent
  service: URL
  /** Set on the way to the service, over what the client may have sent. */
  headers: Record<string, string>
}

/** Milliseconds until a service must have begun its answer. Uploads that are indexed take a while. */
const ANSWER_MS = 300_000

/** Passes the request on and the answer back. Streams are never held; either side's hanging up ends the other. */
export async function forward(
  req: FastifyRequest,
  reply: FastifyReply,
  { route, agent, service, headers }: To,
) {
  const body = req.body ? limited(req.body as Readable, route) : undefined
  // of a body that is not there, or may be cut, the length must not go on: the service would wait for it, or take
  // the next request for it
  const whole = body && !route.anyBody
  const dropped = whole ? NOT_FOR_SERVICES : [...NOT_FOR_SERVICES, 'content-length']
  const outgoing = request({
    agent,
    hostname: service.hostname,
    port: service.port,
    path: req.raw.url,
    method: req.method,
    timeout: ANSWER_MS,
    headers: { ...endToEnd(req.headers, dropped), ...headers },
  })
  outgoing.on('error', noteIn(req)) // also after the answer has begun
  outgoing.on('timeout', () => outgoing.destroy(new Error('The service did not answer in time')))
  reply.raw.once('close', () => outgoing.destroy())
  const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>
  if (body) pipeline(body.bytes, outgoing, noteIn(req))
  else outgoing.end()
  try {
    const [answer] = await answered
    return reply
      .code(answer.statusCode ?? 502)
      .headers(endToEnd(answer.headers))
      .send(answer)
  } catch (cause) {
    if (body?.exceeded()) throw tooLarge(route)
    throw new AppError(
      'unavailable',
      'service.unreachable',
      'This part does not answer at the moment; try again',
      { cause },
    )
  }
}

/** Throws before a byte is read where the length alone says too much. */
export function checkLength({ headers }: FastifyRequest, route: Route) {
  if (Number(headers['content-length'] ?? 0) > (route.maxBytes ?? MEBIBYTE)) throw tooLarge(route)
}

/**
 * A body of unknown length, which fails once it is longer than it may be, or ends there where any body is taken.
 * The request itself outlives it: where the service answers early, the rest is dropped and the client stays to
 * read the answer.
 */
function limited(body: Readable, { maxBytes = MEBIBYTE, anyBody }: Route) {
  let bytes = 0
  async function* counted() {
    try {
      for await (const chunk of body.iterator({ destroyOnReturn: false })) {
        bytes += chunk.length
        if (bytes > maxBytes && anyBody) return
        if (bytes > maxBytes) throw new Error('The body is too large')
        yield chunk
      }
    } finally {
      body.resume()
    }
  }
  return { bytes: counted(), exceeded: () => bytes > maxBytes }
}

const tooLarge = ({ maxBytes = MEBIBYTE }: Route) =>
  new AppError('too_large', 'request.too_large', `The body may have ${maxBytes} bytes at most`)

/** The client's hanging up is no error of ours. */
function noteIn(req: FastifyRequest) {
  return (error: Error | null | undefined) => {
    if (error) req.log.debug({ err: error }, 'A request body ended early')
  }
}

/** The headers meant for the far end, less those dropped by name. */
function endToEnd(headers: Record<string, string | string[] | undefined>, dropped: string[] = []) {
  const kept = { ...headers }
  const { connection = '' } = headers
  const listed = String(connection)
    .toLowerCase()
    .split(/\s*,\s*/)
  for (const name of HOP_BY_HOP) delete kept[name]
  for (const name of dropped) delete kept[name]
  for (const name of listed) delete kept[name]
  return kept
}
