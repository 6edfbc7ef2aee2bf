import type { Sections } from '@guildhall/contracts/dashboard'
import type { DayCount } from '@guildhall/contracts/fields'
import { MOST_PROBLEMS, type Problem } from '@guildhall/contracts/notifications'
import { sql } from 'kysely'
import type { Db } from '../db.ts'

/** A session whose pod did not start is told so long after its end. */
const TOLD_DAYS = 7
/** The schedule looks every five minutes: until then a pod that has not started is not late. */
const LATE_MINUTES = 6

/** What the overview of an org shows of its pods and apps. The pod host is not asked. */
export async function sectionsOf(db: Db, orgId: number, now: Date): Promise<Sections> {
  const [compute, apps] = await Promise.all([
    sql<NonNullable<Sections['compute']>>`
      select (select count(*)::int from pods where org_id = ${orgId} and state = 'live') as pods,
        (count(*) filter (where start_at <= ${now} and stop_at > ${now}))::int as sessions_open,
        (count(*) filter (where start_at > ${now}))::int as sessions_ahead
      from sessions join pods on pods.id = sessions.pod
      where org_id = ${orgId} and not finished and not removed`.execute(db),
    sql<NonNullable<Sections['apps']>>`
      select count(*)::int as registered,
        (count(*) filter (where latest.state = 'deploying'))::int as deploying,
        (count(*) filter (where latest.state = 'failed'))::int as failing
      from apps left join lateral (
        select state from deployments where app = apps.id order by id desc limit 1
      ) as latest on true where org_id = ${orgId}`.execute(db),
  ])
  return { compute: compute.rows[0], apps: apps.rows[0] }
}

/** The hours of each day for which sessions had their pod, as planned; of those that never started, as failed. */
export async function trendsOf(db: Db, orgId: number, since: string, now: Date) {
  const { rows } = await sql<DayCount>`
    with parts as (
      select day, started, extract(epoch from
        least(stop_at, day + interval '24 hours', ${now}) - greatest(start_at, day)) / 3600 as hours
      from sessions join pods on pods.id = sessions.pod, lateral generate_series(
        date_trunc('day', greatest(start_at, ${since}::timestamptz), 'UTC'), stop_at, interval '24 hours') as day
      where org_id = ${orgId} and not removed and start_at < ${now} and stop_at > ${since}
    )
    select to_char(day at time zone 'UTC', 'YYYY-MM-DD') as date,
      coalesce(round(sum(hours) filter (where started), 2), 0)::float8 as value,
      coalesce(round(sum(hours) filter (where not started), 2), 0)::float8 as failed
    from parts where hours > 0 group by 1`.execute(db)
  return { pod_hours: rows }
}

/** Apps whose last deploy failed, and sessions whose pod has not been started. */
export async function problemsOf(db: Db, orgId: number, now: Date): Promise<Problem[]> {
  const { rows } = await sql<Omit<Problem, 'at'> & { at: Date }>`
    (select 'deploy' as kind, apps.name as key,
      coalesce(latest.error, 'The deploy of ' || latest.tag || ' failed') as message,
      latest.finished_at as at
    from apps join lateral (
      select * from deployments where app = apps.id order by id desc limit 1
    ) as latest on latest.state = 'failed' where org_id = ${orgId})
    union all
    (select 'session', sessions.id::text, 'The pod ' || pods.name || ' has not started for the session '
      || sessions.title || ': start it by hand to see why', start_at
    from sessions join pods on pods.id = sessions.pod
    where org_id = ${orgId} and not started and not removed
      and start_at < ${now}::timestamptz - make_interval(mins => ${LATE_MINUTES})
      and stop_at > ${now}::timestamptz - make_interval(days => ${TOLD_DAYS}))
    order by at desc limit ${MOST_PROBLEMS}`.execute(db)
  return rows.map((row) => ({ ...row, at: row.at.toISOString() }))
}
