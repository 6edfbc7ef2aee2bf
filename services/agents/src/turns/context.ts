import type { ContextWanted, TurnContext } from '@guildhall/contracts/agent-turns'
import { memberOf } from '../clients/members.ts'
import { messagesOf } from '../conversations/messages.ts'
import { isOwned } from '../conversations/queries.ts'
import { shownMessage } from '../conversations/rules.ts'
import type { Owner } from '../db.ts'
import type { Deps } from '../deps.ts'
import { memoriesOf } from '../memories/queries.ts'
import { bestOfProfile } from '../profile/queries.ts'
import { similarInTurn } from '../profile/similar.ts'

/** Nodes that `profile_query` finds. */
const MOST_SIMILAR = 10

/** What an agent needs before a turn; everything is asked at once. Throws as `memberOf` does. */
export async function turnContext(
  deps: Deps,
  owner: Owner,
  wanted: ContextWanted,
): Promise<TurnContext> {
  const { db, now } = deps
  const { conversation_id: id, visibility, message_limit: limit } = wanted
  const { memory_kinds: kinds, memory_limit } = wanted
  const [member, owned, messages, memories, profile] = await Promise.all([
    memberOf(deps.bus, owner),
    isOwned(db, owner, id, visibility),
    limit > 0 ? messagesOf(db, owner, { id, visibility, limit }) : undefined,
    memory_limit > 0
      ? memoriesOf(deps, owner, { kinds, limit: memory_limit, now: now() })
      : undefined,
    wanted.profile_limit > 0 ? profileOf(deps, owner, wanted) : undefined,
  ])
  return {
    member,
    conversation: { owned },
    ...(messages && { messages: messages.map(shownMessage) }),
    ...(memories && { memories }),
    ...(profile && { profile }),
  }
}

async function profileOf(
  deps: Deps,
  owner: Owner,
  { profile_limit, profile_query: text }: ContextWanted,
) {
  const [best, similar] = await Promise.all([
    bestOfProfile(deps.db, owner, profile_limit),
    text === undefined ? undefined : similarInTurn(deps, owner, { text, limit: MOST_SIMILAR }),
  ])
  return { ...best, ...(similar && { similar }) }
}
