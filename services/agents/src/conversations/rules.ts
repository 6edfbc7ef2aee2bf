import type { Message, Summary } from '@guildhall/contracts/agent-conversations'
import { AppError } from '@guildhall/service/errors'
import type { MessageRow } from '../db.ts'

/** Throws unless a summary with this seq covers only what was written before it. */
export function checkCovers({ covers }: Summary, seq: number): void {
  if (covers < seq) return
  throw new AppError(
    'invalid',
    'summary.covers_unwritten',
    `covers is ${covers}, but the last seq of the conversation is ${seq - 1}; send a seq that was written`,
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
