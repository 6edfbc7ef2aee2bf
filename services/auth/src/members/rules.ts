import type { Member, MemberRole } from '@guildhall/contracts/members'
import type { ChatMember } from '../clients/chat-member.ts'
import type { Role } from '../clients/shapes.ts'

/** The first `limit` people in the order given, holders of `role` where one is named, and how many there are. */
export function directoryOf(
  members: readonly ChatMember[],
  { role, limit }: { role?: string | undefined; limit: number },
): { members: Member[]; total: number } {
  const people = members.filter(
    ({ bot, roles }) => !bot && (role === undefined || roles.includes(role)),
  )
  return { members: people.slice(0, limit).map(shownMember), total: people.length }
}

export const shownMember = ({ bot: _bot, ...member }: ChatMember): Member => member

/** The roles that people give each other, highest first. */
export function rolesOf(roles: readonly Role[], serverId: string): MemberRole[] {
  return roles
    .filter((role) => role.id !== serverId && !isBots(role)) // the everyone role has the server's own id
    .toSorted((a, b) => b.position - a.position || Number(BigInt(a.id) - BigInt(b.id))) // of equals the older is higher
    .map(({ id, name, color }) => ({ id, name, color: color ? hex(color) : null }))
}

/** The role of boosters is the platform's too, but people hold it. */
const isBots = ({ managed, tags }: Role) => managed && tags?.premium_subscriber === undefined

const hex = (color: number) => `#${color.toString(16).padStart(6, '0')}`
