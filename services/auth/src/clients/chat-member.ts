import { CDN } from '@discordjs/rest'
import type { Member } from '@guildhall/contracts/members'
import type { GuildMember } from './shapes.ts'

/** A member of a chat server. */
export interface ChatMember extends Member {
  bot: boolean
}

const byText = new Intl.Collator('en', { sensitivity: 'base', numeric: true })
const cdn = new CDN()
const PICTURE = { extension: 'png', size: 128 } as const

/** As much of the platform's answer as Guildhall keeps. */
export function chatMember(serverId: string, { user, nick, avatar, roles }: GuildMember) {
  return {
    id: user.id,
    name: nick || user.global_name || user.username,
    username: user.username,
    avatar: pictureOf(serverId, user, avatar),
    roles,
    bot: user.bot,
  } satisfies ChatMember
}

/** The picture shown on this server, else the person's own, else none. */
function pictureOf(
  serverId: string,
  user: { id: string; avatar?: string | null | undefined },
  own: string | null | undefined,
) {
  if (own) return cdn.guildMemberAvatar(serverId, user.id, own, PICTURE)
  return user.avatar ? cdn.avatar(user.id, user.avatar, PICTURE) : null
}

/** The order of a list for people: by name, whatever its capitals. */
export const byName = (a: ChatMember, b: ChatMember) =>
  byText.compare(a.name, b.name) || byText.compare(a.id, b.id)
