import { z } from 'zod'
import {
  AgentParams,
  ChannelId,
  Message,
  MOST_ITEMS,
  MOST_ROWS,
  NewMessages,
  Summary,
  Visibility,
} from './agent-conversations.ts'
import { Memory, MemoryKind, NewMemory } from './agent-memories.ts'
import { PendingAction } from './agent-pending.ts'
import { Facts, NearNode, Profile, SimilarText } from './agent-profile.ts'
import { agent } from './caller.ts'
import { route } from './route.ts'

/** All that an agent reads before a turn, and all that it writes after it (interface.md, Agent routes). */

const Rows = z.int().min(0).max(MOST_ROWS)

export const ContextWanted = z.object({
  conversation_id: z.uuid(),
  visibility: Visibility,
  message_limit: Rows.default(50).describe('0 leaves the messages out; the other limits likewise'),
  memory_kinds: z.array(MemoryKind).max(MemoryKind.options.length).optional(),
  memory_limit: Rows.default(20),
  profile_limit: Rows.default(100).describe('Most nodes, and most relations'),
  profile_query: SimilarText.optional(),
})
export type ContextWanted = z.output<typeof ContextWanted>

export const TurnContext = z
  .object({
    member: z.object({
      display_name: z.string(),
      role_ids: z.array(z.string()),
      is_officer: z.boolean(),
    }),
    conversation: z.object({
      owned: z.boolean().describe('The member holds it under this visibility'),
    }),
    messages: z
      .array(Message)
      .optional()
      .describe(
        'As the route of messages: the newest, of up to 1 MiB together; empty if not owned',
      ),
    memories: z
      .array(Memory)
      .optional()
      .describe('The highest confidence first, of up to 1 MiB together'),
    profile: Profile.extend({
      similar: z
        .array(NearNode)
        .optional()
        .describe(
          'With profile_query, of the nodes that have a vector yet; missing without an embedder, and where it fails or takes more than a second',
        ),
    }).optional(),
  })
  .meta({ id: 'TurnContext' })
export type TurnContext = z.output<typeof TurnContext>

export const readTurnContext = route({
  method: 'POST',
  url: '/api/agents/members/:chat_user_id/turn/context',
  summary: 'What an agent needs before it answers a member of the chat server',
  owner: 'agents',
  caller: agent('agents:read'),
  module: 'agents',
  params: AgentParams,
  body: ContextWanted,
  reply: { 200: TurnContext },
})

export const Turn = z
  .object({
    conversation_id: z.uuid(),
    channel_id: ChannelId,
    visibility: Visibility,
    messages: NewMessages.optional(),
    summary: Summary.optional().describe('May cover the messages of this turn'),
    memories: z.array(NewMemory).min(1).max(MOST_ITEMS).optional(),
    facts: Facts.optional(),
    pending: z
      .array(PendingAction.extend({ id: z.uuid() }))
      .min(1)
      .max(MOST_ITEMS)
      .optional(),
  })
  .refine(
    ({ messages, summary, memories, facts, pending }) =>
      [messages, summary, memories, facts, pending].some((part) => part !== undefined),
    'Send one or more of messages, summary, memories, facts and pending',
  )
export type Turn = z.output<typeof Turn>

export const Committed = z.object({
  seqs: z.array(z.int()),
  summary_seq: z.int().nullable(),
  memory_ids: z.array(z.uuid()),
  facts: z.int().describe('Different relations among the facts'),
  pending: z.array(z.uuid()),
})
export type Committed = z.output<typeof Committed>

export const commitTurn = route({
  method: 'POST',
  url: '/api/agents/members/:chat_user_id/turn/commit',
  summary: 'Write a whole turn in one transaction; makes the conversation if there is none',
  owner: 'agents',
  caller: agent('agents:write'),
  module: 'agents',
  params: AgentParams,
  body: Turn,
  idempotent: true,
  reply: { 201: Committed },
})
