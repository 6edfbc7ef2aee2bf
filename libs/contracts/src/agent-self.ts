import { z } from 'zod'
import { ConversationState, Visibility } from './agent-conversations.ts'
import { Memory } from './agent-memories.ts'
import { Profile } from './agent-profile.ts'
import { member } from './caller.ts'
import { audited } from './event.ts'
import { ChatUserId, Instant, OrgParams } from './fields.ts'
import { Bytes, route } from './route.ts'

/** What members see and delete of what agents keep of them (decisions.md § 4). Officers have no such route. */

const HeldConversation = z.object({
  id: z.uuid(),
  channel_id: z.string(),
  visibility: Visibility,
  state: ConversationState,
  messages: z.int().describe('How many, summaries among them'),
  created_at: Instant,
  updated_at: Instant,
})
const HeldAction = z.object({
  id: z.uuid(),
  action: z.record(z.string(), z.json()),
  state: z.enum(['held', 'answered', 'expired']),
  expires_at: Instant,
})

export const Held = z
  .object({
    counts: z
      .object({
        conversations: z.int(),
        memories: z.int(),
        nodes: z.int(),
        relations: z.int(),
        pending: z.int(),
      })
      .describe(
        'All that is held; each list has its newest 500, texts of memories up to 1 MiB, the export all',
      ),
    conversations: z.array(HeldConversation),
    memories: z.array(Memory),
    profile: Profile,
    pending: z.array(HeldAction),
  })
  .meta({ id: 'HeldOfMember' })
export type Held = z.output<typeof Held>

export const listHeld = route({
  method: 'GET',
  url: '/api/agents/:org/me',
  summary: "What the org's agents keep of the caller",
  owner: 'agents',
  caller: member,
  module: 'agents',
  params: OrgParams,
  noStore: true,
  reply: { 200: Held },
})

export const exportHeld = route({
  method: 'GET',
  url: '/api/agents/:org/me/export',
  summary: "Everything that the org's agents keep of the caller, messages too, as a JSON file",
  owner: 'agents',
  caller: member,
  module: 'agents',
  params: OrgParams,
  noStore: true,
  reply: { 200: Bytes },
})

export const deleteHeld = route({
  method: 'DELETE',
  url: '/api/agents/:org/me',
  summary: "Delete everything that the org's agents keep of the caller; answers how many rows",
  owner: 'agents',
  caller: member,
  module: 'agents',
  params: OrgParams,
  reply: { 200: z.object({ deleted: z.int() }) },
})

export const deleteMyConversation = route({
  method: 'DELETE',
  url: '/api/agents/:org/me/conversations/:conversation_id',
  summary: 'Delete one conversation of the caller with its messages',
  owner: 'agents',
  caller: member,
  module: 'agents',
  params: OrgParams.extend({ conversation_id: z.uuid() }),
  reply: { 200: z.object({ deleted: z.literal(true) }) },
})

export const deleteMyMemory = route({
  method: 'DELETE',
  url: '/api/agents/:org/me/memories/:memory_id',
  summary: 'Delete one memory of the caller',
  owner: 'agents',
  caller: member,
  module: 'agents',
  params: OrgParams.extend({ memory_id: z.uuid() }),
  reply: { 200: z.object({ deleted: z.literal(true) }) },
})

export const heldDeleted = audited(
  'agents.member.erased',
  z.object({ chat_user_id: ChatUserId, rows: z.int() }),
)
export const heldExported = audited(
  'agents.member.exported',
  z.object({ chat_user_id: ChatUserId }),
)
