import type { Memory, MemoryKind } from '@guildhall/contracts/agent-memories'
import type { Sealer } from '@guildhall/outbound/sealed'
import type { Db, MemoryRow, Owner, Trx } from '../db.ts'
import { shownMemory } from './seal.ts'

interface Wanted {
  kinds: readonly MemoryKind[] | undefined
  limit: number
  now: Date
}

/**
 * The member's unexpired memories, the highest confidence first, then the newest. Those that cannot be opened are left out
 * before the limit: where some were, more are read, so one query is enough as long as all open.
 */
export async function memoriesOf(
  { db, sealer }: { db: Db; sealer: Sealer },
  owner: Owner,
  wanted: Wanted,
): Promise<Memory[]> {
  const found: Memory[] = []
  const { limit } = wanted
  for (let offset = 0; ; offset += limit) {
    const rows = await rowsOf(db, owner, { ...wanted, offset, sealed: sealer.ready })
    for (const row of rows) {
      const memory = shownMemory(sealer, row)
      if (memory) found.push(memory)
    }
    if (rows.length < limit || found.length >= limit) return found.slice(0, limit)
  }
}

function rowsOf(
  db: Db,
  owner: Owner,
  { kinds, limit, now, offset, sealed }: Wanted & { offset: number; sealed: boolean },
): Promise<MemoryRow[]> {
  let query = db
    .selectFrom('memories')
    .selectAll()
    .where('org_id', '=', owner.org_id)
    .where('chat_user_id', '=', owner.chat_user_id)
    .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', now)]))
    .orderBy('confidence', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .offset(offset)
  if (kinds) query = query.where('kind', 'in', kinds)
  if (!sealed) query = query.where('sealed_content', 'is', null)
  return query.execute()
}

export async function insertMemories(trx: Trx, rows: MemoryRow[]) {
  await trx.insertInto('memories').values(rows).execute()
}

/** True if there was one. */
export async function deleteOne(trx: Trx, owner: Owner, id: string): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('memories')
    .where((where) => where.and({ ...owner, id }))
    .executeTakeFirst()
  return numDeletedRows === 1n
}

/** Deletes the member's memories and profile graph; answers how many rows, relations not counted. */
export async function deleteData(trx: Trx, owner: Owner): Promise<number> {
  let rows = 0
  for (const table of ['memories', 'nodes'] as const) {
    const { numDeletedRows } = await trx
      .deleteFrom(table)
      .where((where) => where.and({ ...owner }))
      .executeTakeFirst()
    rows += Number(numDeletedRows)
  }
  return rows
}
