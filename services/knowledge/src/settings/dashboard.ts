import type { Sections } from '@guildhall/contracts/dashboard'
import type { DayCount } from '@guildhall/contracts/fields'
import { MOST_PROBLEMS, type Problem } from '@guildhall/contracts/notifications'
import { sql } from 'kysely'
import type { Db } from '../db.ts'

/** What the overview of an org shows of its sources. */
export async function sectionsOf(db: Db, orgId: number): Promise<Sections> {
  const { rows } = await sql<NonNullable<Sections['knowledge']>>`
    select count(current_version_id)::int as sources, count(crawls.source_id)::int as crawled,
      coalesce(sum(chunk_count), 0)::float8 as passages,
      (count(*) filter (where crawls.enabled and crawls.last_error is not null))::int as failing
    from sources left join versions on versions.id = current_version_id
      left join crawls on crawls.source_id = sources.id and not crawls.retired
    where org_id = ${orgId}`.execute(db)
  return { knowledge: rows[0] }
}

/** Crawls and uploads of each day, as far back as the last runs are kept. */
export async function trendsOf(db: Db, orgId: number, since: string) {
  const { rows } = await sql<DayCount>`
    select to_char(started_at at time zone 'UTC', 'YYYY-MM-DD') as date, count(*)::int as value,
      (count(*) filter (where error is not null))::int as failed
    from runs where org_id = ${orgId} and started_at >= ${since} group by 1`.execute(db)
  return { knowledge: rows }
}

/** The enabled crawls that failed when they were last tried. */
export async function problemsOf(db: Db, orgId: number): Promise<Problem[]> {
  const rows = await db
    .selectFrom('crawls')
    .innerJoin('sources', 'sources.id', 'crawls.source_id')
    .select(['key', 'last_error', 'last_attempt_at'])
    .where('org_id', '=', orgId)
    .where('enabled', '=', true)
    .where('retired', '=', false)
    .where('last_error', 'is not', null)
    .orderBy('last_attempt_at', 'desc')
    .limit(MOST_PROBLEMS)
    .execute()
  return rows.map(({ key, last_error, last_attempt_at }) => ({
    kind: 'crawl',
    key,
    message: last_error ?? '',
    at: last_attempt_at?.toISOString() ?? null,
  }))
}
