import { z } from 'zod'
import { anyMachine } from './caller.ts'
import { audited } from './event.ts'
import { Bytes, MEBIBYTE, route } from './route.ts'

/** The tools of agents, over MCP and over HTTP (decisions.md § 4). */

/** A call to the service that owns the tool must fit a message of 1 MiB, envelope included. */
const MOST_INPUT_BYTES = MEBIBYTE - 16 * 1024

const mcp = {
  url: '/mcp',
  owner: 'mcp',
  caller: anyMachine,
  headers: [
    'accept',
    'content-type',
    'last-event-id',
    'mcp-method',
    'mcp-name',
    'mcp-protocol-version',
    'mcp-session-id',
    'origin',
  ],
} as const
/** What the protocol says; refusals of ours are Problems. */
const said = { 200: Bytes, 202: Bytes, 400: Bytes, 403: Bytes, 404: Bytes, 405: Bytes, 406: Bytes }
const spoken = { ...said, 413: Bytes, 415: Bytes, 500: Bytes }

export const postMcp = route({
  ...mcp,
  method: 'POST',
  summary: 'A message of the Model Context Protocol (streamable HTTP, without sessions)',
  body: z.unknown(),
  maxBytes: MOST_INPUT_BYTES,
  reply: spoken,
})

export const getMcp = route({
  ...mcp,
  method: 'GET',
  summary: 'No stream is kept for messages of the server: 405, as the protocol has it',
  reply: spoken,
})

export const deleteMcp = route({
  ...mcp,
  method: 'DELETE',
  summary: 'There is no session to end: 405, as the protocol has it',
  reply: spoken,
})

export const ShownTool = z
  .object({
    name: z.string(),
    description: z.string(),
    scope: z.string(),
    confirm: z.boolean().describe('Nothing is done without `confirm: true` among the arguments'),
    input_schema: z.record(z.string(), z.unknown()).describe('JSON Schema of the arguments'),
  })
  .meta({ id: 'Tool' })

export const listTools = route({
  method: 'GET',
  url: '/api/tools',
  summary: 'The tools that this token may use: scope held, module on, service connected',
  owner: 'mcp',
  caller: anyMachine,
  reply: { 200: z.object({ tools: z.array(ShownTool) }) },
})

/** What a tool answers: what it did or found, or what it would do once it is confirmed. */
export const ToolAnswer = z
  .union([
    z.object({
      result: z.unknown(),
      degraded: z.string().optional().describe('The service without which it was answered'),
    }),
    z.object({
      confirm_required: z.literal(true),
      message: z.string(),
      preview: z.record(z.string(), z.unknown()),
    }),
  ])
  .meta({ id: 'ToolAnswer' })
export type ToolAnswer = z.output<typeof ToolAnswer>

export const useTool = route({
  method: 'POST',
  url: '/api/tools/:name',
  summary: 'Use a tool; the body is its arguments',
  owner: 'mcp',
  caller: anyMachine,
  params: z.object({ name: z.string().max(100) }),
  body: z.record(z.string(), z.unknown()),
  maxBytes: MOST_INPUT_BYTES,
  reply: { 200: ToolAnswer },
})

export const toolUsed = audited(
  'mcp.tool.called',
  z.object({
    tool: z.string(),
    outcome: z
      .enum(['asked', 'done', 'confirm_required', 'refused', 'unknown'])
      .describe(
        'asked: about to be done, by a tool that writes; a line with what became of it follows. unknown: nobody answered in time',
      ),
    code: z.string().nullable().describe('Of a refusal'),
  }),
)
