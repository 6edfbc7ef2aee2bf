import { z } from 'zod'
import { AgentParams, bytesOf, MOST_CONTENT_BYTES } from './agent-conversations.ts'
import { agent } from './caller.ts'
import { audited } from './event.ts'
import { ChatUserId, Instant } from './fields.ts'
import { route } from './route.ts'

/** What an agent may do only once its member has said yes (interface.md, Pending actions). */

const DEFAULT_TTL_SECONDS = 600
const MOST_TTL_SECONDS = 7 * 86_400

export const PendingAction = z.object({
  action: z
    .record(z.string(), z.json())
    .refine((value) => bytesOf(value) <= MOST_CONTENT_BYTES, 'is longer than 64 kB of JSON'),
  payload_hash: z.string().min(1).max(200),
  ttl_seconds: z.int().min(1).max(MOST_TTL_SECONDS).default(DEFAULT_TTL_SECONDS),
})
export type PendingAction = z.output<typeof PendingAction>

const PendingParams = AgentParams.extend({ pending_id: z.uuid() })

export const holdPending = route({
  method: 'PUT',
  url: '/api/agents/members/:chat_user_id/pending/:pending_id',
  summary: 'Hold an action until the member has answered; an id serves once',
  owner: 'agents',
  caller: agent('agents:write'),
  module: 'agents',
  params: PendingParams,
  body: PendingAction,
  reply: { 201: z.object({ held: z.literal(true), expires_at: Instant }) },
})

export const claimPending = route({
  method: 'POST',
  url: '/api/agents/members/:chat_user_id/pending/:pending_id/claim',
  summary: 'Answer a held action, and get it: whoever comes first, and nobody a second time',
  owner: 'agents',
  caller: agent('agents:write'),
  module: 'agents',
  params: PendingParams,
  body: z.object({ approved: z.boolean() }),
  reply: {
    200: z.object({
      action: z.record(z.string(), z.json()),
      payload_hash: z.string(),
      approved: z.boolean(),
    }),
  },
})

export const pendingAnswered = audited(
  'agents.pending.answered',
  z.object({ pending_id: z.uuid(), chat_user_id: ChatUserId, approved: z.boolean() }),
)
