import { AppError } from '@guildhall/service/errors'
import type { ChatMember } from '../clients/chat-member.ts'
import type { OrgRow } from '../db.ts'
import type { Deps } from '../deps.ts'

/** So many are asked for one by one; for more the whole list is one request to the chat platform. */
const FEW = 5

/**
 * Those of `ids` who are on the org's server, in their order. Throws where the chat platform does not tell;
 * what it told before is kept, so whoever asks again comes further.
 */
export async function membersByIds(
  { chat, access }: Pick<Deps, 'chat' | 'access'>,
  org: OrgRow,
  ids: readonly string[],
): Promise<ChatMember[]> {
  const wanted = [...new Set(ids)]
  const all = wanted.length > FEW ? await wholeList(chat, org.chat_server_id) : undefined
  const listed = all && new Map(all.map((member) => [member.id, member]))
  const found = await Promise.all(
    wanted.map(async (id) => (listed ? listed.get(id) : (await access.membership(id, org)).member)),
  )
  return found.filter((member) => member !== undefined)
}

/** Nothing where the platform does not list the server's members, though it is there. */
function wholeList(chat: Deps['chat'], serverId: string) {
  return chat.members(serverId).catch((error: unknown) => {
    if (error instanceof AppError && UNLISTED.includes(error.code)) return undefined
    throw error
  })
}
const UNLISTED = ['chat.members_intent', 'chat.too_many_members']
