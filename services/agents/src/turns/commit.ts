import type { Committed, Turn } from '@guildhall/contracts/agent-turns'
import { insertMessages, insertSummary } from '../conversations/messages.ts'
import { openConversation } from '../conversations/queries.ts'
import type { Owner, Trx } from '../db.ts'
import type { Deps } from '../deps.ts'
import { insertMemories } from '../memories/queries.ts'
import { memoryRow } from '../memories/seal.ts'
import { lockOwner } from '../owner.ts'
import { insertPending } from '../pending/queries.ts'
import { storeFacts } from '../profile/facts.ts'

/** Writes every part of a turn in the transaction; what any of them throws undoes all. */
export async function writeTurn(
  trx: Trx,
  { sealer, now: clock }: Pick<Deps, 'sealer' | 'now'>,
  owner: Owner,
  turn: Turn,
): Promise<Committed> {
  const now = clock()
  const { conversation_id: id, channel_id, visibility } = turn
  const { messages, summary, memories = [], facts, pending = [] } = turn
  const remembered = memories.map((memory) => memoryRow(sealer, owner, memory, now))
  await lockOwner(trx, owner)
  await openConversation(trx, owner, { id, channel_id, visibility }, now)
  const seqs = messages ? await insertMessages(trx, owner, { id, messages, now }) : []
  const summary_seq = summary ? await insertSummary(trx, owner, { id, summary, now }) : null
  if (remembered.length > 0) await insertMemories(trx, owner, remembered)
  const stored = facts ? await storeFacts(trx, owner, facts, now) : 0
  const held = pending.length > 0 ? await insertPending(trx, owner, pending, now) : []
  return {
    seqs,
    summary_seq,
    memory_ids: remembered.map((row) => row.id),
    facts: stored,
    pending: held.map((row) => row.id),
  }
}
