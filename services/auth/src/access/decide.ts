import type { AccessDecision, AccessReason } from '@guildhall/contracts/auth'
import { AppError } from '@guildhall/service/errors'
import { kept } from '@guildhall/service/kept'
import { LRUCache } from 'lru-cache'
import type { Chat } from '../clients/chat.ts'
import type { OrgRow } from '../db.ts'

/** Seconds that roles read from the chat platform count (interface.md, Limits). */
const DECISION_SECONDS = 60
const MOST_DECISIONS = 10_000

type OrgRoles = Pick<OrgRow, 'chat_server_id' | 'officer_role_id'>
interface Known {
  roles: readonly string[] | undefined
  valid_until: Date
}

export type Access = ReturnType<typeof createAccess>

/** Decides who may act on an org: holders of its officer role, and the superadmin. */
export function createAccess({
  chat,
  superadmins,
  now,
}: {
  chat: Chat
  superadmins: readonly string[]
  now: () => Date
}) {
  // many who ask at once share one request to the chat platform; failures are not kept
  const known = new LRUCache<string, Known, OrgRoles & { chat_user_id: string }>({
    max: MOST_DECISIONS,
    ttl: DECISION_SECONDS * 1000,
    fetchMethod: async (_key, _stale, { context }) => {
      const valid_until = new Date(now().getTime() + DECISION_SECONDS * 1000)
      return {
        roles: await chat.memberRoles(context.chat_server_id, context.chat_user_id),
        valid_until,
      }
    },
  })
  const isSuperadmin = (chat_user_id: string) => superadmins.includes(chat_user_id)

  return {
    isSuperadmin,

    /** Never throws for a chat platform that is away: that is the reason `bot_unavailable`, and is not kept. */
    async decide(chat_user_id: string, org: OrgRoles): Promise<AccessDecision> {
      if (isSuperadmin(chat_user_id))
        return allowed(chat_user_id, new Date(now().getTime() + DECISION_SECONDS * 1000))
      try {
        const context = { ...org, chat_user_id }
        const found = await kept(known, `${chat_user_id}@${org.chat_server_id}`, { context })
        const officer = org.officer_role_id !== null && found.roles?.includes(org.officer_role_id)
        return officer
          ? allowed(chat_user_id, found.valid_until)
          : denied('not_org_officer', found.valid_until)
      } catch (error) {
        if (error instanceof AppError && error.kind === 'unavailable')
          return denied('bot_unavailable', now())
        throw error
      }
    },
  }

  function allowed(chat_user_id: string, valid_until: Date): AccessDecision {
    return {
      allowed: true,
      reason: null,
      superadmin: isSuperadmin(chat_user_id),
      valid_until: valid_until.toISOString(),
    }
  }
}

function denied(reason: AccessReason, valid_until: Date): AccessDecision {
  return { allowed: false, reason, superadmin: false, valid_until: valid_until.toISOString() }
}
