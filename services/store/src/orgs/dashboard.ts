import { RECENT_DAYS, type Sections } from '@guildhall/contracts/dashboard'
import type { DayCount } from '@guildhall/contracts/fields'
import { sql } from 'kysely'
import type { Db } from '../db.ts'

const DAY_MS = 86_400_000

/** What the overview of an org shows of its members, points and store. */
export async function sectionsOf(db: Db, orgId: number, now: Date) {
  const since = new Date(now.getTime() - RECENT_DAYS * DAY_MS)
  const [members, points, storefront] = await Promise.all([
    sql<Sections['members'] & { balances: number }>`
      select count(*)::int as total, coalesce(sum(balance), 0)::float8 as balances,
        (count(*) filter (where created_at >= ${since}))::int as joined_recently
      from memberships where org_id = ${orgId}`.execute(db),
    sql<{ awarded_recently: number }>`
      select coalesce(sum(points), 0)::float8 as awarded_recently from ledger
      where org_id = ${orgId} and created_at >= ${since} and kind in ('award', 'csv')`.execute(db),
    sql<NonNullable<Sections['storefront']>>`
      select products, sold_out, orders_open, orders_recently
      from (select count(*)::int as products, (count(*) filter (where stock = 0))::int as sold_out
          from products where org_id = ${orgId} and not retired) as goods,
        (select (count(*) filter (where status in ('pending', 'processing')))::int as orders_open,
          (count(*) filter (where created_at >= ${since}))::int as orders_recently
          from orders where org_id = ${orgId} and not deleted) as bought`.execute(db),
  ])
  const { balances, total, joined_recently } = one(members.rows)
  return {
    members: { total, joined_recently },
    points: { balances, ...one(points.rows) },
    storefront: one(storefront.rows),
  }
}

/** Points awarded and orders made on each day; an order that was cancelled counts as failed too. */
export async function trendsOf(db: Db, orgId: number, since: string) {
  const [points, orders] = await Promise.all([
    sql<DayCount>`
      select to_char(created_at at time zone 'UTC', 'YYYY-MM-DD') as date,
        sum(points)::float8 as value, 0 as failed
      from ledger where org_id = ${orgId} and created_at >= ${since} and kind in ('award', 'csv')
      group by 1`.execute(db),
    sql<DayCount>`
      select to_char(created_at at time zone 'UTC', 'YYYY-MM-DD') as date, count(*)::int as value,
        (count(*) filter (where status = 'cancelled'))::int as failed
      from orders where org_id = ${orgId} and created_at >= ${since} and not deleted
      group by 1`.execute(db),
  ])
  return { points: points.rows, orders: orders.rows }
}

function one<T>([row]: T[]): T {
  if (!row) throw new Error('An aggregate has one row')
  return row
}
