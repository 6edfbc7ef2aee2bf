import type { Held } from '@guildhall/contracts/agent-self'
import type { Selectable } from 'kysely'
import type { Tables } from '../db.ts'
import type { newestConversations } from './queries.ts'

type ConversationRow = Awaited<ReturnType<typeof newestConversations>>[number]

export const shownConversation = (row: ConversationRow): Held['conversations'][number] => ({
  ...row,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

/** An action as its member sees it: waiting, answered, or too late to answer. */
export function shownAction(
  { id, action, answered_at, expires_at }: Selectable<Tables['pending_actions']>,
  now: Date,
): Held['pending'][number] {
  const unanswered = expires_at > now ? 'held' : 'expired'
  const state = answered_at ? 'answered' : unanswered
  return { id, action, state, expires_at: expires_at.toISOString() }
}
