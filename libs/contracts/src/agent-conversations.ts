import { z } from 'zod'
import { agent } from './caller.ts'
import { audited } from './event.ts'
import { ChatUserId, Instant } from './fields.ts'
import { route } from './route.ts'

/** What an agent keeps of its talks with a member (interface.md, Agent storage; decisions.md § 4). */

/** Most items of one list that is sent, and most rows that are asked for. */
export const MOST_ITEMS = 100
export const MOST_ROWS = 500
export const MOST_CONTENT_BYTES = 64 * 1024
/** Most bytes of the messages of one answer, a summary not counted, and of the texts of its memories. */
export const MOST_ANSWER_BYTES = 1024 * 1024

/** The member of the token's org whom a URL names. */
export const AgentParams = z.object({ chat_user_id: ChatUserId })
export const ConversationParams = AgentParams.extend({ conversation_id: z.uuid() })
/** Of the agent's own choosing; dots alone would be folded by URL parsers on the way. */
export const ChannelId = z
  .string()
  .regex(
    /^(?!\.{1,2}$)[\w.:@#+-]{1,100}$/,
    'a channel id is up to 100 of A-Z a-z 0-9 _ . : @ # + -',
  )
const ChannelParams = AgentParams.extend({ channel_id: ChannelId })
export const Visibility = z.enum(['public', 'private'])
export const RowLimit = z.coerce.number<string>().int().min(1).max(MOST_ROWS)

/** Any JSON of up to 64 kB. */
export const JsonContent = z
  .json()
  .refine((value) => bytesOf(value) <= MOST_CONTENT_BYTES, 'is longer than 64 kB of JSON')
export const bytesOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value)).length

export const NewMessage = z.object({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: JsonContent,
})
export type NewMessage = z.output<typeof NewMessage>
export const NewMessages = z.array(NewMessage).min(1).max(MOST_ITEMS)
export const Summary = z.object({
  content: JsonContent,
  covers: z.int32().min(1).describe('The last seq that it replaces'),
})
export type Summary = z.output<typeof Summary>

export const Message = z
  .object({
    seq: z.int(),
    role: z.enum(['system', 'user', 'assistant', 'tool', 'summary']),
    content: z.json(),
    created_at: Instant,
  })
  .meta({ id: 'AgentMessage' })
export type Message = z.output<typeof Message>
export const ConversationState = z.enum(['open', 'ended'])
const Conversation = z.object({ id: z.uuid(), state: ConversationState })

export const putConversation = route({
  method: 'PUT',
  url: '/api/agents/members/:chat_user_id/conversations/:conversation_id',
  summary: 'Begin a conversation (201), or confirm that the member holds it (200)',
  owner: 'agents',
  caller: agent('agents:write'),
  module: 'agents',
  params: ConversationParams,
  body: z.object({ channel_id: ChannelId, visibility: Visibility }),
  reply: { 200: Conversation, 201: Conversation },
})

export const getConversation = route({
  method: 'GET',
  url: '/api/agents/members/:chat_user_id/conversations/:conversation_id',
  summary: 'Whether the member holds the conversation, under this visibility if one is named',
  owner: 'agents',
  caller: agent('agents:read'),
  module: 'agents',
  params: ConversationParams,
  query: z.object({ visibility: Visibility.optional() }),
  reply: { 200: z.object({ owned: z.boolean() }) },
})

export const listMessages = route({
  method: 'GET',
  url: '/api/agents/members/:chat_user_id/conversations/:conversation_id/messages',
  summary:
    'The newest summary, then the latest messages that it does not cover, oldest first, of up to 1 MiB together',
  owner: 'agents',
  caller: agent('agents:read'),
  module: 'agents',
  params: ConversationParams,
  query: z.object({ limit: RowLimit.default(50) }),
  reply: { 200: z.object({ messages: z.array(Message) }) },
})

export const appendMessages = route({
  method: 'POST',
  url: '/api/agents/members/:chat_user_id/conversations/:conversation_id/messages',
  summary: 'Add messages to an open conversation: all or none',
  owner: 'agents',
  caller: agent('agents:write'),
  module: 'agents',
  params: ConversationParams,
  body: z.object({ messages: NewMessages }),
  idempotent: true,
  reply: { 201: z.object({ seqs: z.array(z.int()) }) },
})

export const addSummary = route({
  method: 'POST',
  url: '/api/agents/members/:chat_user_id/conversations/:conversation_id/summary',
  summary:
    'Replace the messages up to `covers`, which never goes back, by a summary; it takes the next seq',
  owner: 'agents',
  caller: agent('agents:write'),
  module: 'agents',
  params: ConversationParams,
  body: Summary,
  idempotent: true,
  reply: { 201: z.object({ seq: z.int() }) },
})

export const findLatest = route({
  method: 'GET',
  url: '/api/agents/members/:chat_user_id/channels/:channel_id/latest',
  summary: 'The open conversation of the channel with the latest update',
  owner: 'agents',
  caller: agent('agents:read'),
  module: 'agents',
  params: ChannelParams,
  query: z.object({ visibility: Visibility.optional() }),
  reply: { 200: z.object({ id: z.uuid().nullable() }) },
})

export const endChannel = route({
  method: 'POST',
  url: '/api/agents/members/:chat_user_id/channels/:channel_id/end',
  summary: "End the member's open conversations in the channel",
  owner: 'agents',
  caller: agent('agents:write'),
  module: 'agents',
  params: ChannelParams,
  reply: { 200: z.object({ ended: z.int() }) },
})

export const conversationDeleted = audited(
  'agents.conversation.deleted',
  z.object({ conversation_id: z.uuid(), chat_user_id: ChatUserId }),
)
