import { z } from 'zod'
import { AgentParams, MOST_ROWS } from './agent-conversations.ts'
import { agent } from './caller.ts'
import { audited } from './event.ts'
import { ChatUserId, Instant } from './fields.ts'
import { route } from './route.ts'

/** What an agent remembers of a member (interface.md, Agent storage; decisions.md § 4). */

const MOST_MEMORY_CHARS = 20_000
const MOST_DAYS = 3650

export const MemoryKind = z.enum(['episodic', 'semantic', 'profile', 'task'])
export type MemoryKind = z.output<typeof MemoryKind>
export const Confidence = z.number().min(0).max(1)

export const NewMemory = z.object({
  kind: MemoryKind,
  content: z.string().min(1).max(MOST_MEMORY_CHARS),
  sensitivity: z.enum(['normal', 'sensitive']).default('normal'),
  confidence: Confidence.default(1),
  source_seq: z.int32().min(1).nullable().default(null).describe('The message that it comes from'),
  expires_in_days: z.int().min(1).max(MOST_DAYS).nullable().default(null),
})
export type NewMemory = z.output<typeof NewMemory>

export const Memory = z
  .object({
    id: z.uuid(),
    kind: MemoryKind,
    content: z.string(),
    sensitivity: NewMemory.shape.sensitivity.unwrap(),
    confidence: z.number(),
    source_seq: z.int().nullable(),
    expires_at: Instant.nullable(),
    created_at: Instant,
  })
  .meta({ id: 'AgentMemory' })
export type Memory = z.output<typeof Memory>

export const listMemories = route({
  method: 'GET',
  url: '/api/agents/members/:chat_user_id/memories',
  summary:
    'Unexpired memories, the highest confidence first, of up to 1 MiB together; sensitive ones that cannot be opened are left out',
  owner: 'agents',
  caller: agent('agents:read'),
  module: 'agents',
  params: AgentParams,
  query: z.object({
    kinds: z
      .string()
      .transform((text) => text.split(','))
      .pipe(z.array(MemoryKind))
      .optional()
      .describe('One or more, separated by commas'),
    limit: z.coerce.number<string>().int().min(1).max(MOST_ROWS).default(100),
  }),
  reply: { 200: z.object({ memories: z.array(Memory) }) },
})

export const addMemory = route({
  method: 'POST',
  url: '/api/agents/members/:chat_user_id/memories',
  summary: 'Remember something of the member; what is sensitive is stored encrypted',
  owner: 'agents',
  caller: agent('agents:write'),
  module: 'agents',
  params: AgentParams,
  body: NewMemory,
  reply: { 201: Memory },
})

export const deleteMemory = route({
  method: 'DELETE',
  url: '/api/agents/members/:chat_user_id/memories/:memory_id',
  summary: 'Forget one memory',
  owner: 'agents',
  caller: agent('agents:write'),
  module: 'agents',
  params: AgentParams.extend({ memory_id: z.uuid() }),
  reply: { 200: z.object({ deleted: z.literal(true) }) },
})

export const deleteMemberData = route({
  method: 'DELETE',
  url: '/api/agents/members/:chat_user_id/data',
  summary: "Delete the member's memories and profile graph; answers how many memories and nodes",
  owner: 'agents',
  caller: agent('agents:write'),
  module: 'agents',
  params: AgentParams,
  reply: { 200: z.object({ deleted: z.int() }) },
})

const OfMember = z.object({ chat_user_id: ChatUserId })
export const memoryDeleted = audited(
  'agents.memory.deleted',
  OfMember.extend({ memory_id: z.uuid() }),
)
export const memberDataDeleted = audited(
  'agents.member_data.deleted',
  OfMember.extend({ rows: z.int() }),
)
