import { z } from 'zod'
import { call } from './call.ts'
import type { IntegrationKey } from './integrations.ts'
import { OrgForServices } from './orgs.ts'
import type { Route } from './route.ts'
import { type Scope, TokenKind, TokenLimits } from './tokens.ts'

/** One thing that an agent can do, as plain data: a route, asked by name over MCP or /api/tools. */
export interface Tool {
  /** `<entity>.<verb or noun>`, as agents see it. */
  name: `${string}.${string}`
  /** What the token must hold. The service that answers checks it again. */
  scope: Scope
  /** What runs. Its org is the token's. */
  route: Route
  /** The connected service that it works on: `limits` of a token say which of its tools the token may use. */
  integration?: IntegrationKey
  /** It is of use without its integration too: then only the limits count. */
  optional?: true
  /** It changes nothing, although its route is no GET. */
  reads?: true
  /** What it does, for agents; the summary of the route where nothing is said. */
  summary?: string
  /**
   * Nothing happens without `confirm: true`. Until then a preview is answered: the arguments, and what `shows` reads, or
   * what the route answers to `dry_run`. Refusals of `shows` that do not keep the tool from its work are shown as they
   * are: `despite` has their codes.
   */
  confirm?: { shows?: Route; despite?: readonly string[]; dry_run?: true }
  /** Fields of the route that agents have no use for. */
  without?: readonly string[]
  /** Fields of which it takes less than the route, so that it answers within its deadline. */
  narrowed?: Record<string, z.ZodType>
  /** No line in the audit log: searches (decisions.md § 4). */
  audited?: false
}

export const tool = <const T extends Tool>(contract: T): T => contract

export const summaryOf = ({ summary, route }: Tool) => summary ?? route.summary

/** True for a tool that changes nothing. */
export const readsOnly = ({ route, reads }: Tool) => route.method === 'GET' || reads === true

/**
 * Longer than a route takes for what a tool may ask of it (a pod that is made; `narrowed` sees to the others), and
 * shorter than the minute that MCP clients wait.
 */
export const TOOL_MS = 55_000
/** Longest answer, in bytes of JSON: a message of NATS has 1 MiB, envelope included. */
export const MOST_ANSWER_BYTES = 1_000_000

export const ToolCaller = z.object({
  token_id: z.string(),
  token_kind: TokenKind,
  name: z.string(),
  scopes: z.array(z.string()),
})
export type ToolCaller = z.output<typeof ToolCaller>

const ToolArgs = z.object({
  caller: ToolCaller,
  org: OrgForServices,
  /** The fields of the route: those of its path, query and body side by side. */
  input: z.record(z.string(), z.unknown()),
  idempotency_key: z.string().optional(),
  /** What would be confirmed is to be shown and not done. */
  preview: z.boolean(),
})
export type ToolArgs = z.output<typeof ToolArgs>

const ToolReply = z.object({
  answer: z.unknown(),
  degraded: z.string().optional().describe('The service without which it was answered'),
})
export type ToolReply = z.output<typeof ToolReply>

/** The call by which mcp uses a tool. NATS lets nobody else ask. */
export const callOf = (tool: Tool) =>
  call({
    service: tool.route.owner,
    name: `tool_${tool.name.replace('.', '_')}`,
    summary: summaryOf(tool),
    callers: ['mcp'],
    args: ToolArgs,
    reply: ToolReply,
    deadlineMs: TOOL_MS,
  })

export const findToolAccess = call({
  service: 'auth',
  name: 'find_tool_access',
  summary:
    'Which outside services an org has connected, and what a machine token may touch of them',
  callers: ['mcp'],
  args: z.object({ org_id: z.int(), token_id: z.uuid() }),
  reply: z.object({
    connected: z.array(z.string()).describe("Its own keys, or the deployment's"),
    limits: TokenLimits.nullable().describe('null where the token does not count any more'),
  }),
})
