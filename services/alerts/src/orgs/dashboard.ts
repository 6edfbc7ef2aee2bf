import type { Sections } from '@guildhall/contracts/dashboard'
import type { DayCount } from '@guildhall/contracts/fields'
import { MOST_PROBLEMS, type Problem } from '@guildhall/contracts/notifications'
import { sql } from 'kysely'
import type { Db } from '../db.ts'

/** What the overview of an org shows of its feeds. */
export async function sectionsOf(db: Db, orgId: number): Promise<Sections> {
  const { rows } = await sql<NonNullable<Sections['alerts']>>`
    select count(*)::int as feeds, (count(*) filter (where enabled))::int as enabled,
      (count(*) filter (where enabled and last_error is not null))::int as failing,
      coalesce(sum(posted), 0)::float8 as posted
    from feeds where org_id = ${orgId}`.execute(db)
  return { alerts: rows[0] }
}

/** Items that were new on each day and are posted; those of which it is not known, or that were refused, have failed. */
export async function trendsOf(db: Db, orgId: number, since: string) {
  const { rows } = await sql<DayCount>`
    select to_char(created_at at time zone 'UTC', 'YYYY-MM-DD') as date,
      (count(*) filter (where state = 'posted'))::int as value,
      (count(*) filter (where state = 'uncertain' or (state = 'new' and refusals > 0)))::int as failed
    from items where feed_id in (select id from feeds where org_id = ${orgId})
      and created_at >= ${since} and state <> 'recorded'
    group by 1`.execute(db)
  return { alert_posts: rows }
}

/** The enabled feeds whose last run failed. */
export async function problemsOf(db: Db, orgId: number): Promise<Problem[]> {
  const rows = await db
    .selectFrom('feeds')
    .select(['key', 'last_error', 'last_run_at'])
    .where('org_id', '=', orgId)
    .where('enabled', '=', true)
    .where('last_error', 'is not', null)
    .orderBy('last_run_at', 'desc')
    .limit(MOST_PROBLEMS)
    .execute()
  return rows.map(({ key, last_error, last_run_at }) => ({
    kind: 'feed',
    key,
    message: last_error ?? '',
    at: last_run_at?.toISOString() ?? null,
  }))
}
