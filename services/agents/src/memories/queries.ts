import { MOST_ANSWER_BYTES } from '@guildhall/contracts/agent-conversations'
import type { Memory, MemoryKind } from '@guildhall/contracts/agent-memories'
import type { Sealer } from '@guildhall/outbound/sealed'
import { sql } from 'kysely'
import type { Db, MemoryRow, Owner, Trx } from '../db.ts'
import { checkHeld } from '../limits.ts'
import { shownMemory } from './seal.ts'

interface Wanted {
  kinds: readonly MemoryKind[] | undefined
  limit: number
  now: Date
}

/**
 * The member's unexpired memories, the highest confidence first, then the newest: fewer than `limit` where their texts
 * would be more than MOST_ANSWER_BYTES. Those that cannot be opened are left out before the limit.
 */
export async function memoriesOf(
  deps: { db: Db; sealer: Sealer },
  owner: Owner,
  wanted: Wanted,
): Promise<Memory[]> {
  const found: Memory[] = []
  let bytes = 0
  for await (const memory of opened(deps, owner, wanted)) {
    bytes += Buffer.byteLength(memory.content)
    if (bytes > MOST_ANSWER_BYTES) break
    found.push(memory)
    if (found.length === wanted.limit) break
  }
  return found
}

/** Those that open, page by page: where some do not, more are read, so one query is enough as long as all open. */
async function* opened(
  { db, sealer }: { db: Db; sealer: Sealer },
  owner: Owner,
  wanted: Wanted,
): AsyncGenerator<Memory> {
  for (let offset = 0; ; ) {
    const rows = await rowsOf(db, owner, { ...wanted, offset, sealed: sealer.ready })
    for (const row of rows) {
      const memory = shownMemory(sealer, row)
      if (memory) yield memory
    }
    const there = rows[0]?.there ?? 0
    if (there < wanted.limit && rows.length === there) return
    offset += rows.length
  }
}

/** A page of rows, cut where their texts are too long together; `there` counts them as they were before. */
function rowsOf(
  db: Db,
  owner: Owner,
  { kinds, limit, now, offset, sealed }: Wanted & { offset: number; sealed: boolean },
): Promise<(MemoryRow & { there: number })[]> {
  let page = db
    .selectFrom('memories')
    .selectAll()
    .where('org_id', '=', owner.org_id)
    .where('chat_user_id', '=', owner.chat_user_id)
    // as memories_best has it: expired ones are passed over in the index
    .where(sql<boolean>`coalesce(expires_at, 'infinity') > ${now}`)
    .orderBy('confidence', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .offset(offset)
  if (kinds) page = page.where('kind', 'in', kinds)
  if (!sealed) page = page.where('sealed_content', 'is', null)
  const text = sql`octet_length(coalesce(content, sealed_content))`
  const measured = db
    .selectFrom(page.as('page'))
    .selectAll()
    .select(sql<number>`sum(${text}) over (order by confidence desc, id desc)`.as('total'))
    .select(sql<number>`count(*) over ()`.as('there'))
  return db
    .selectFrom(measured.as('measured'))
    .selectAll()
    .where('total', '<=', sql<number>`${2 * MOST_ANSWER_BYTES}`) // what is sealed is longer
    .orderBy('confidence', 'desc')
    .orderBy('id', 'desc')
    .execute()
}

/** Throws `memory.too_many` as `checkHeld` does. Call it under `lockOwner`. */
export async function insertMemories(trx: Trx, owner: Owner, rows: MemoryRow[]) {
  await trx.insertInto('memories').values(rows).execute()
  await checkHeld(trx, owner, 'memories')
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
