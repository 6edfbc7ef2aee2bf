import type { ErrorGroup } from '@guildhall/contracts/ops'
import { sql } from 'kysely'
import type { z } from 'zod'
import type { Db } from '../db.ts'

type Group = z.output<typeof ErrorGroup>

/** Up to `limit` groups seen before `before` (`<last_seen> <id>`), the latest first. */
export async function errorGroups(
  db: Db,
  { before, limit }: { before: string | undefined; limit: number },
): Promise<Group[]> {
  const [seen, id] = before?.split(' ') ?? []
  let query = db
    .selectFrom('error_groups')
    .selectAll()
    .orderBy('last_seen', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
  if (seen && id)
    query = query.where(sql<boolean>`(last_seen, id) < (${new Date(seen)}, ${id}::uuid)`)
  const rows = await query.execute()
  return rows.map(({ fingerprint, first_seen, last_seen, ...row }) => ({
    ...row,
    first_seen: first_seen.toISOString(),
    last_seen: last_seen.toISOString(),
  }))
}

/** Deletes every error of an org. */
export async function deleteErrorsOf(db: Db, orgId: number) {
  await db.deleteFrom('error_groups').where('org_id', '=', orgId).execute()
}
