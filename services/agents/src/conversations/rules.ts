import type { Message } from '@guildhall/contracts/agent-conversations'
import { AppError } from '@guildhall/service/errors'
import type { MessageRow } from '../db.ts'

/** Most messages of a conversation, summaries among them: 1.3 GB at the very most. */
const MOST_MESSAGES = 20_000

/** Throws where a conversation that has numbered up to `last_seq` would be too long. */
export function checkLength(last_seq: number): void {
  if (last_seq <= MOST_MESSAGES) return
  throw new AppError(
    'conflict',
    'conversation.full',
    `A conversation takes ${MOST_MESSAGES} messages; begin another under a new id`,
  )
}

/**
 * Throws unless the summary with this seq covers only what was written before it, and all that the `last` one
 * does: else covered messages would come back.
 */
export function checkCovers(covers: number, { seq, last }: { seq: number; last: number }): void {
  if (covers >= seq)
    throw new AppError(
      'invalid',
      'summary.covers_unwritten',
      `covers is ${covers}, but the last seq of the conversation is ${seq - 1}; send a seq that was written`,
    )
  if (covers < last)
    throw new AppError(
      'conflict',
      'summary.outdated',
      `covers is ${covers}, but a summary already covers the messages up to ${last}; read them again and send a summary that covers at least these`,
    )
}

/** A message as agents and members see it. */
export const shownMessage = ({ seq, role, content, created_at }: MessageRow): Message => ({
  seq,
  role,
  content,
  created_at: created_at.toISOString(),
})

export const taken = () =>
  new AppError(
    'conflict',
    'conversation.taken',
    'Another member, channel or visibility holds this conversation id; take a new one',
  )

export const ended = () =>
  new AppError(
    'conflict',
    'conversation.ended',
    'The conversation has ended; begin another under a new id',
  )

export const noConversation = () =>
  new AppError('not_found', 'conversation.not_found', 'The member has no such conversation')
