import type { Sections } from '@guildhall/contracts/dashboard'
import type { DayCount } from '@guildhall/contracts/fields'
import { sql } from 'kysely'
import type { Db } from '../db.ts'

/** How much there is of an org, and never of whom or what: officers have no way to what members tell agents. */
export async function sectionsOf(db: Db, orgId: number, now: Date): Promise<Sections> {
  const { rows } = await sql<NonNullable<Sections['agents']>>`
    select conversations, conversations_open, pending_actions
    from (select count(*)::int as conversations,
        (count(*) filter (where state = 'open'))::int as conversations_open
        from conversations where org_id = ${orgId}) as talked,
      (select count(*)::int as pending_actions from pending_actions
        where org_id = ${orgId} and answered_at is null and expires_at > ${now}) as held`.execute(
    db,
  )
  return { agents: rows[0] }
}

/** Messages of members on each day. */
export async function trendsOf(db: Db, orgId: number, since: string) {
  const { rows } = await sql<DayCount>`
    select to_char(messages.created_at at time zone 'UTC', 'YYYY-MM-DD') as date,
      count(*)::int as value, 0 as failed
    from conversations join messages on messages.conversation = conversations.id
    where org_id = ${orgId} and conversations.updated_at >= ${since}
      and messages.created_at >= ${since} and role = 'user'
    group by 1`.execute(db)
  return { questions: rows }
}
