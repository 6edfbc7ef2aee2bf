import { Readable } from 'node:stream'
import {
  createMcpHandler,
  type McpServer,
  originValidationResponse,
  type Server,
} from '@modelcontextprotocol/server'

/** A request as the frame hands it on: the body is read, the headers are those of the contract. */
export interface Arrived {
  method: string
  headers: Readonly<Record<string, string | undefined>>
  body?: unknown
}
export interface Spoken {
  status: number
  headers: [string, string][]
  body: Readable
}

interface Options<Asker> {
  /** Pages that may call. */
  origins: (string | RegExp)[]
  /** Makes the server that one request speaks with. */
  serverFor: (asker: Asker) => McpServer | Server
  onerror: (error: Error) => void
}

/** JSON-RPC 2.0, 5.1: what an invalid request without an id is answered. */
const NO_BATCH = {
  jsonrpc: '2.0',
  id: null,
  error: {
    code: -32_600,
    message: 'Invalid Request: send one message a request; batches are not taken',
  },
}

/**
 * Speaks streamable HTTP without sessions, in both lines of the protocol: each request gets a server of its own.
 * A batch is refused in every version, so that what counts requests counts messages.
 * A page whose origin is not known is refused (the protocol's rule against DNS rebinding).
 */
export function createTransport<Asker>({ origins, serverFor, onerror }: Options<Asker>) {
  const isAllowed = (origin: string) =>
    origins.some((one) => (typeof one === 'string' ? one === origin : one.test(origin)))
  const handler = createMcpHandler(({ authInfo }) => serverFor(authInfo?.extra?.asker as Asker), {
    onerror,
  })

  async function speak({ method, headers, body }: Arrived, asker: Asker): Promise<Spoken> {
    if (Array.isArray(body)) return spoken(Response.json(NO_BATCH, { status: 400 }))
    const sent = Object.entries(headers).filter(([, value]) => value !== undefined)
    const request = new Request('http://mcp.internal/mcp', {
      method,
      headers: sent as [string, string][],
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const authInfo = { token: '', clientId: '', scopes: [], extra: { asker } }
    const { origin } = headers
    const refused =
      origin === undefined || isAllowed(origin) ? undefined : originValidationResponse(request, [])
    return spoken(refused ?? (await handler.fetch(request, { parsedBody: body, authInfo })))
  }
  return { speak, close: handler.close }
}

function spoken({ status, headers, body }: Response): Spoken {
  const stream = body
    ? Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0])
    : Readable.from([])
  return { status, headers: [...headers], body: stream }
}
