import type { DayCount } from '@guildhall/contracts/fields'
import type { AuditEntry } from '@guildhall/contracts/ops'
import { sql } from 'kysely'
import type { z } from 'zod'
import type { Db } from '../db.ts'

export interface AuditFilters {
  /** Nothing means every org. */
  org_id?: number | undefined
  actor?: string | undefined
  action?: string | undefined
  since?: string | undefined
}

/** Up to `limit` lines older than `before`, the newest first. */
export async function auditLines(
  db: Db,
  { org_id, actor, action, since }: AuditFilters,
  { before, limit }: { before: string | undefined; limit: number },
): Promise<z.output<typeof AuditEntry>[]> {
  let query = db.selectFrom('audit_entries').selectAll().orderBy('id', 'desc').limit(limit)
  if (org_id !== undefined) query = query.where('org_id', '=', org_id)
  if (actor !== undefined) query = query.where('actor_id', '=', actor)
  if (action !== undefined) query = query.where(sql<boolean>`starts_with(action, ${action})`)
  if (since !== undefined) query = query.where('created_at', '>=', new Date(since))
  if (before !== undefined) query = query.where('id', '<', before)
  const rows = await query.execute()
  return rows.map(({ org_id: org, created_at, ...row }) => ({
    ...row,
    org,
    created_at: created_at.toISOString(),
  }))
}

/** How many lines of an org there are on each day since an instant; tool calls that were refused, or that nobody answered, have failed. */
export async function auditDays(
  db: Db,
  { org_id, since }: { org_id: number; since: string },
): Promise<DayCount[]> {
  const { rows } = await sql<DayCount>`
    select to_char(created_at at time zone 'UTC', 'YYYY-MM-DD') as date, count(*)::int as value,
      (count(*) filter (where status >= 400))::int as failed
    from audit_entries where org_id = ${org_id} and created_at >= ${since} group by 1`.execute(db)
  return rows
}
