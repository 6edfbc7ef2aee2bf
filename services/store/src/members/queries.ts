import type { PointsUser } from '@guildhall/contracts/points'
import { z } from 'zod'
import type { Db, Membership } from '../db.ts'
import { shownName } from './rules.ts'

type Known = Membership & { chat_user_id: string | null }

/** Members of an org, with the chat account of their person. */
export const selectMembers = (db: Db, orgId: number) =>
  db
    .selectFrom('memberships as m')
    .innerJoin('people as p', 'p.id', 'm.person')
    .selectAll('m')
    .select('p.chat_user_id')
    .where('m.org_id', '=', orgId)

/** The member whom an email, an id or a username means. */
export function memberBy(db: Db, orgId: number, identifier: string) {
  const text = identifier.toLowerCase()
  const isId = z.uuid().safeParse(text).success
  const column = text.includes('@') ? 'm.email' : isId ? 'm.id' : 'm.username'
  return selectMembers(db, orgId).where(column, '=', text).executeTakeFirst()
}

interface Page {
  before: string | undefined
  limit: number
}

/** Up to `limit` members older than `before`, the newest first; with `q` those whose names hold it. */
export function membersOf(db: Db, orgId: number, q: string | undefined, { before, limit }: Page) {
  let query = selectMembers(db, orgId).orderBy('m.id', 'desc').limit(limit)
  if (before !== undefined) query = query.where('m.id', '<', before)
  if (q) {
    const like = `%${q.replace(/[\\%_]/g, '\\$&')}%`
    query = query.where((where) =>
      where.or([
        where('m.name', 'ilike', like),
        where('m.email', 'ilike', like),
        where('m.username', 'ilike', like),
      ]),
    )
  }
  return query.execute()
}

export function shownMember(member: Known): PointsUser {
  const { id, name, email, username, student_id, class_standing, major, profile_fields } = member
  return {
    ...{
      id,
      name: shownName(name),
      email,
      username,
      student_id,
      class_standing,
      major,
      profile_fields,
    },
    chat_linked: member.chat_user_id !== null,
    total_points: member.balance,
    created_at: member.created_at.toISOString(),
    updated_at: member.updated_at.toISOString(),
  }
}
