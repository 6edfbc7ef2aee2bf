import { z } from 'zod'
import { call } from './call.ts'
import { anyMachine, officer } from './caller.ts'
import { audited } from './event.ts'
import { ChatUserId, Instant, nextCursor, OrgIdParams, Paging } from './fields.ts'
import { integrations } from './integrations.ts'
import { OrgForServices } from './orgs.ts'
import { route } from './route.ts'

/** Machine tokens: one org, some scopes, shown once (interface.md, Machine tokens). */

export const MACHINE_TOKEN_PREFIX = 'plat_'

interface ScopeInfo {
  description: string
  /** The connected service without which the scope grants nothing. */
  integration: string | null
}

/** Every scope that a token may hold. Names are stable. */
export const scopes = {
  'compute:connect': { description: 'Connect to pods over SSH', integration: 'podhost' },
  'compute:manage': { description: 'Make, start, stop and delete pods', integration: 'podhost' },
  'knowledge:read': { description: 'Search and read knowledge', integration: null },
  'knowledge:write': { description: 'Write and delete knowledge', integration: null },
  'agents:read': { description: 'Read what an agent remembers', integration: null },
  'agents:write': { description: 'Write what an agent remembers', integration: null },
  'org:read': { description: "Read the org's name, branding and overview", integration: null },
  'calendar:read': { description: 'Read events', integration: null },
  'calendar:manage': { description: 'Start a calendar sync', integration: 'calendar' },
  'points:read': { description: 'Read points', integration: null },
  'points:write': { description: 'Award points', integration: null },
  'accounts:link': { description: 'Grants nothing yet', integration: null },
  'accounts:token': { description: 'Grants nothing yet', integration: null },
  'activity:read': { description: 'Read the audit log and errors', integration: null },
  'settings:write': { description: 'Change settings', integration: null },
  'integrations:manage': { description: 'Connect outside services', integration: null },
  'apps:read': { description: 'Read apps and deployments', integration: null },
  'apps:manage': { description: 'Register, delete and roll back apps', integration: null },
  'apps:deploy': { description: 'Deploy apps', integration: 'podhost' },
  'alerts:manage': { description: 'Manage alert feeds', integration: null },
} as const satisfies Record<string, ScopeInfo>
export type Scope = keyof typeof scopes
const scopeNames = Object.keys(scopes) as [Scope, ...Scope[]]

export const TokenKind = z.enum(['app', 'agent', 'cli'])
const Globs = z.array(z.string().min(1).max(200)).max(100)
/** Keyed by connected service. `token-limits.ts` tells what they allow. */
export const TokenLimits = z.record(
  z.string().max(50),
  z.object({ repos: Globs, tools: Globs }).partial().strict(),
)
export type TokenLimits = z.output<typeof TokenLimits>

/** Of a new token: a misspelt name would limit nothing, so only what the integrations declare is accepted. */
const NewTokenLimits = z
  .strictObject(
    Object.fromEntries(
      Object.entries(integrations).flatMap(([key, { limits }]) => {
        const lists = Object.fromEntries(limits.map((limit) => [limit, Globs]))
        return limits.length > 0 ? [[key, z.strictObject(lists).partial()]] : []
      }),
    ),
  )
  .partial()
  .pipe(TokenLimits)

export const MachineToken = z
  .object({
    id: z.uuid(),
    name: z.string(),
    kind: TokenKind,
    scopes: z.array(z.enum(scopeNames)),
    limits: TokenLimits,
    display: z.string().describe('The first 11 characters of the value'),
    created_by: z.string(),
    created_at: Instant,
    expires_at: Instant.nullable(),
    last_used_at: Instant.nullable(),
  })
  .meta({ id: 'MachineToken' })
export type MachineToken = z.output<typeof MachineToken>

const MOST_LIMITS_BYTES = 16 * 1024

export const NewMachineToken = z.object({
  name: z.string().trim().min(1).max(100),
  kind: TokenKind,
  scopes: z.array(z.enum(scopeNames)).min(1, 'Name at least one scope').max(scopeNames.length),
  expires_days: z.int().min(1).max(3650).optional(),
  limits: NewTokenLimits.refine(
    (limits) => new TextEncoder().encode(JSON.stringify(limits)).length <= MOST_LIMITS_BYTES,
    'are longer than 16 KiB',
  ).default({}),
})

export const createMachineToken = route({
  method: 'POST',
  url: '/api/organizations/:org_id/tokens',
  summary:
    'Make a machine token; its value is shown this once. An org has at most 200 that have not expired',
  owner: 'auth',
  caller: officer,
  params: OrgIdParams,
  body: NewMachineToken,
  noStore: true,
  reply: { 201: MachineToken.extend({ token: z.string() }) },
})

export const listMachineTokens = route({
  method: 'GET',
  url: '/api/organizations/:org_id/tokens',
  summary:
    "The org's machine tokens, those of members' CLIs last, and every scope that one may hold",
  owner: 'auth',
  caller: officer,
  params: OrgIdParams,
  query: Paging,
  reply: {
    200: z.object({
      tokens: z.array(MachineToken),
      next_cursor: nextCursor,
      scopes: z.array(
        z.object({
          name: z.string(),
          description: z.string(),
          integration: z.string().nullable(),
        }),
      ),
      integrations: z.array(
        z.object({
          key: z.string(),
          title: z.string(),
          connected: z.boolean(),
          scopes: z.array(z.string()),
          limits: z.array(z.string()),
        }),
      ),
    }),
  },
})

export const deleteMachineToken = route({
  method: 'DELETE',
  url: '/api/organizations/:org_id/tokens/:token_id',
  summary: 'Revoke a machine token at once',
  owner: 'auth',
  caller: officer,
  params: OrgIdParams.extend({ token_id: z.uuid() }),
  reply: { 200: z.object({ deleted: z.literal(true) }) },
})

export const whoami = route({
  method: 'GET',
  url: '/api/auth/machine/whoami',
  summary: 'The org, name, kind and scopes of the machine token sent',
  owner: 'auth',
  caller: anyMachine,
  reply: {
    200: z.object({
      org: z.object({ id: z.int(), prefix: z.string(), name: z.string() }),
      name: z.string(),
      kind: TokenKind,
      scopes: z.array(z.string()),
    }),
  },
})

export const findMachineToken = call({
  service: 'auth',
  name: 'find_machine_token',
  summary: 'The machine token with this SHA-256, if it counts, and its org',
  callers: ['gateway'],
  args: z.object({ sha256: z.string().length(43).describe('base64url') }),
  reply: z.object({
    token: z
      .object({
        id: z.string(),
        name: z.string(),
        kind: TokenKind,
        scopes: z.array(z.string()),
        limits: TokenLimits.default({}),
        expires_at: Instant.nullable(),
        /** Whose CLI it is of; null for a token that an officer made. */
        member: z
          .object({ chat_user_id: ChatUserId, username: z.string() })
          .nullable()
          .default(null),
        org: OrgForServices,
      })
      .nullable(),
  }),
})

export const findTokenLimits = call({
  service: 'auth',
  name: 'find_token_limits',
  summary:
    'What a machine token may touch of connected services; null where it does not count any more',
  callers: ['compute'],
  args: z.object({ org_id: z.int(), id: z.uuid() }),
  reply: z.object({ limits: TokenLimits.nullable() }),
})

const TokenNamed = z.object({ token_id: z.uuid(), name: z.string() })
export const machineTokenCreated = audited(
  'auth.machine_token.created',
  TokenNamed.extend({ kind: TokenKind, scopes: z.array(z.string()) }),
)
export const machineTokenRevoked = audited('auth.machine_token.revoked', TokenNamed)
