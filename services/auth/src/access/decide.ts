import type { AccessDecision, AccessReason } from '@guildhall/contracts/auth'
import { AppError } from '@guildhall/service/errors'
import { kept } from '@guildhall/service/kept'
import { LRUCache } from 'lru-cache'
import type { Chat } from '../clients/chat.ts'
import type { ChatMember } from '../clients/chat-member.ts'
import type { OrgRow } from '../db.ts'

/** Seconds that roles read from the chat platform count (interface.md, Limits). */
const DECISION_SECONDS = 60
const MOST_DECISIONS = 10_000

type OrgRoles = Pick<OrgRow, 'chat_server_id' | 'officer_role_id'>
interface Known {
  /** Nothing where the user is not on the server. */
  member: ChatMember | undefined
  valid_until: Date
}

export type Access = ReturnType<typeof createAccess>

/** Knows who is on an org's server, and decides who may act on the org: holders of its officer role, and the superadmin. */
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
        member: await chat.member(context.chat_server_id, context.chat_user_id),
        valid_until,
      }
    },
  })
  const isSuperadmin = (chat_user_id: string) => superadmins.includes(chat_user_id)

  /** Whether a chat user is on the org's server and holds its officer role. Throws where the chat platform does not tell. */
  async function membership(chat_user_id: string, org: OrgRoles) {
    const context = { ...org, chat_user_id }
    const key = `${chat_user_id}@${org.chat_server_id}`
    const before = known.peek(key)
    const forceRefresh = before !== undefined && before.valid_until <= now()
    const found = await kept(known, key, { context, forceRefresh })
    const { officer_role_id } = org
    const officer = officer_role_id !== null && found.member?.roles.includes(officer_role_id)
    return { ...found, officer: officer ?? false }
  }

  return {
    isSuperadmin,
    membership,

    /**
     * Never throws for a chat platform that is away: that is the reason `bot_unavailable`, and is not kept.
     * A token of type `app` does not stand for the superadmin.
     */
    async decide(chat_user_id: string, org: OrgRoles, type?: 'app'): Promise<AccessDecision> {
      const superadmin = type !== 'app' && isSuperadmin(chat_user_id)
      if (superadmin)
        return allowed({ superadmin }, new Date(now().getTime() + DECISION_SECONDS * 1000))
      try {
        const { officer, valid_until } = await membership(chat_user_id, org)
        return officer
          ? allowed({ superadmin }, valid_until)
          : denied('not_org_officer', valid_until)
      } catch (error) {
        if (error instanceof AppError && error.kind === 'unavailable')
          return denied('bot_unavailable', now())
        throw error
      }
    },
  }
}

function allowed({ superadmin }: { superadmin: boolean }, valid_until: Date): AccessDecision {
  return { allowed: true, reason: null, superadmin, valid_until: valid_until.toISOString() }
}

function denied(reason: AccessReason, valid_until: Date): AccessDecision {
  return { allowed: false, reason, superadmin: false, valid_until: valid_until.toISOString() }
}
