import { deleteMcp, getMcp, postMcp } from '@guildhall/contracts/mcp'
import type { Sent } from '@guildhall/contracts/route'
import type { App } from '@guildhall/service/app'
import { mcpOrigins } from '@guildhall/service/mcp-origins'
import type { McpServer, Server } from '@modelcontextprotocol/server'
import type { Deps } from '../deps.ts'
import type { Asker } from '../tools/usable.ts'
import { createTransport, type Spoken } from './transport.ts'

/** As much of a reply as the three routes share. */
interface Reply {
  header(name: string, value: string): unknown
  code(status: 200): { send(body: AsyncIterable<Uint8Array>): Sent }
}

/** MCP over HTTP. `serverFor` makes the server that one request speaks with; tests speak with others. */
export function mcpRoutes(
  app: App,
  { config, log }: Pick<Deps, 'config' | 'log'>,
  serverFor: (asker: Asker) => McpServer | Server,
) {
  const onerror = (error: Error) => log.debug({ err: error }, 'A message of MCP was refused')
  const { speak, close } = createTransport({ origins: mcpOrigins(config), serverFor, onerror })
  app.addHook('preClose', close)

  app.implement(postMcp, async ({ headers, body, caller, org, request_id }, reply) =>
    say(reply, await speak({ method: 'POST', headers, body }, { caller, org, request_id })),
  )
  app.implement(getMcp, async ({ headers, caller, org, request_id }, reply) =>
    say(reply, await speak({ method: 'GET', headers }, { caller, org, request_id })),
  )
  app.implement(deleteMcp, async ({ headers, caller, org, request_id }, reply) =>
    say(reply, await speak({ method: 'DELETE', headers }, { caller, org, request_id })),
  )
}

function say(reply: Reply, { status, headers, body }: Spoken): Sent {
  for (const [name, value] of headers) reply.header(name, value)
  return reply.code(status as 200).send(body)
}
