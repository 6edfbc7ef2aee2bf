import type { ErrorGroup } from '@guildhall/contracts/error-groups'
import { sql } from 'kysely'
import type { z } from 'zod'
import type { Db, Trx } from '../db.ts'

type Group = z.output<typeof ErrorGroup>

export interface ErrorFilters {
  /** Nothing means every org, and none. */
  org_id: number | undefined
  status: 'open' | 'resolved' | 'all'
}

/** Up to `limit` groups seen before `before` (`<last_seen> <id>`), the latest first. */
export async function errorGroups(
  db: Db,
  { org_id, status }: ErrorFilters,
  { before, limit }: { before: string | undefined; limit: number },
): Promise<Group[]> {
  const [seen, id] = before?.split(' ') ?? []
  let query = db
    .selectFrom('error_groups')
    .selectAll()
    .orderBy('last_seen', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
  if (org_id !== undefined) query = query.where('org_id', '=', org_id)
  if (status !== 'all')
    query = query.where('resolved_at', status === 'open' ? 'is' : 'is not', null)
  if (seen && id)
    query = query.where(sql<boolean>`(last_seen, id) < (${new Date(seen)}, ${id}::uuid)`)
  const rows = await query.execute()
  return rows.map(({ fingerprint, opened_by, org_id: org, ...row }) => ({
    ...row,
    org,
    first_seen: row.first_seen.toISOString(),
    last_seen: row.last_seen.toISOString(),
    resolved_at: row.resolved_at?.toISOString() ?? null,
  }))
}

export interface Named {
  /** Nothing means every org, and none. */
  org_id: number | undefined
  ids: string[]
}

/** Resolves those named that are open, and answers their ids. */
export async function resolveGroups(
  trx: Trx,
  named: Named,
  { by, at }: { by: string | null; at: Date },
): Promise<string[]> {
  const rows = await chosen(trx, named)
    .set({ resolved_at: at, resolved_by: by })
    .where('resolved_at', 'is', null)
    .returning('id')
    .execute()
  return rows.map(({ id }) => id)
}

/** Opens those named that are resolved, and answers their ids. */
export async function reopenGroups(trx: Trx, named: Named): Promise<string[]> {
  const rows = await chosen(trx, named)
    .set({ resolved_at: null, resolved_by: null })
    .where('resolved_at', 'is not', null)
    .returning('id')
    .execute()
  return rows.map(({ id }) => id)
}

function chosen(trx: Trx, { org_id, ids }: Named) {
  const update = trx.updateTable('error_groups').where('id', 'in', ids)
  return org_id === undefined ? update : update.where('org_id', '=', org_id)
}

/** Deletes every error of an org. */
export async function deleteErrorsOf(db: Db, orgId: number) {
  await db.deleteFrom('error_groups').where('org_id', '=', orgId).execute()
}
