import type { PointsUser } from '@guildhall/contracts/points'
import { sql } from 'kysely'
import { z } from 'zod'
import type { Db, Membership } from '../db.ts'
import { shownName } from './rules.ts'

type Known = Membership & { chat_user_id: string | null; proved_email: string | null }

/** Members of an org, with what their person has proved. */
export const selectMembers = (db: Db, orgId: number) =>
  db
    .selectFrom('memberships as m')
    .innerJoin('people as p', 'p.id', 'm.person')
    .selectAll('m')
    .select(['p.chat_user_id', 'p.email as proved_email'])
    .where('m.org_id', '=', orgId)

/** The member whom an email, an id or a username means. */
export function selectMember(db: Db, orgId: number, identifier: string) {
  const text = identifier.toLowerCase()
  const members = selectMembers(db, orgId)
  if (!text.includes('@'))
    return members.where(z.uuid().safeParse(text).success ? 'm.id' : 'm.username', '=', text)
  // who proved the email comes before whom an officer noted under it
  const noted = db.selectFrom('memberships').select('id').where('org_id', '=', orgId)
  const proved = db
    .selectFrom('people as o')
    .innerJoin('memberships as n', 'n.person', 'o.id')
    .select('n.id')
    .where('n.org_id', '=', orgId)
    .where('o.email', '=', text)
  return members
    .where('m.id', 'in', noted.where('email', '=', text).union(proved))
    .orderBy(sql`p.email is not distinct from ${text}`, 'desc')
    .limit(1)
}

export const memberBy = (db: Db, orgId: number, identifier: string) =>
  selectMember(db, orgId, identifier).executeTakeFirst()

interface Lockable<T> {
  executeTakeFirst(): Promise<T | undefined>
  forNoKeyUpdate(of: 'm'): { executeTakeFirst(): Promise<T | undefined> }
}

/**
 * The member whom a query of `selectMembers` finds, in a transaction until whose end nobody else moves their
 * points. Who was joined with another while we waited is looked for again.
 */
export async function lockMember<T>(find: () => Lockable<T>): Promise<T | undefined> {
  for (;;) {
    const locked = await find().forNoKeyUpdate('m').executeTakeFirst()
    if (locked || !(await find().executeTakeFirst())) return locked
  }
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
        where('p.email', 'ilike', like),
        where('m.username', 'ilike', like),
      ]),
    )
  }
  return query.execute()
}

/** The email that their org notes, else the one that they proved. */
export const emailOfMember = ({ email, proved_email }: Pick<Known, 'email' | 'proved_email'>) =>
  email ?? proved_email

export function shownMember(member: Known): PointsUser {
  const { id, name, username, student_id, class_standing, major, profile_fields } = member
  return {
    ...{ id, username, student_id, class_standing, major, profile_fields },
    name: shownName(name),
    email: emailOfMember(member),
    chat_linked: member.chat_user_id !== null,
    total_points: member.balance,
    created_at: member.created_at.toISOString(),
    updated_at: member.updated_at.toISOString(),
  }
}
