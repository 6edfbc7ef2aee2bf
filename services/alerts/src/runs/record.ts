import { newId } from '@guildhall/service/id'
import { sql } from 'kysely'
import type { Db, Trx } from '../db.ts'
import { embedOf } from '../items/embed.ts'
import type { Found, Listing } from '../items/found.ts'
import { storable } from '../items/storable.ts'
import { type Lease, lockLeased } from './leases.ts'

/** Rows of one statement. */
const BATCH = 500
const MOST_TITLE = 500

/**
 * Remembers what the lists hold: what is new is to be posted, unless its list was never read before. False where the
 * lease was lost. Answers how many are new.
 */
export function record(
  db: Db,
  lease: Lease,
  { items, sources }: Listing,
  { now, postExisting }: { now: Date; postExisting: boolean },
): Promise<{ fresh: number } | undefined> {
  const news = (item: Found) =>
    item.fits && (postExisting || lease.seeded_sources.includes(item.source))
  return db.transaction().execute(async (trx) => {
    if (!(await lockLeased(trx, lease))) return undefined
    let fresh = 0
    for (let at = 0; at < items.length; at += BATCH) {
      const batch = items.slice(at, at + BATCH)
      fresh += await insert(
        trx,
        lease.id,
        batch.map((item, n) => rowOf(item, news(item), n)),
        now,
      )
    }
    const seeded_sources = [...new Set([...lease.seeded_sources, ...sources])]
    const seeded_at = lease.seeded_at ?? now
    await trx
      .updateTable('feeds')
      .set({ seeded_sources, seeded_at })
      .where('id', '=', lease.id)
      .execute()
    return { fresh }
  })
}

const rowOf = (item: Found, isNews: boolean, place: number) => ({
  place,
  id: newId(),
  key: item.key,
  title: item.title.slice(0, MOST_TITLE),
  url: item.url,
  embed: embedOf(item),
  state: isNews ? 'new' : 'recorded',
})

const storableIn = (_name: string, value: unknown) =>
  typeof value === 'string' ? storable(value) : value

/** Answers how many are to be posted that were not known. */
async function insert(trx: Trx, feedId: string, rows: ReturnType<typeof rowOf>[], now: Date) {
  const { rows: written } = await sql<{ state: string; made: boolean }>`
    insert into items (id, feed_id, key, title, url, embed, state, created_at, listed_at)
    select id, ${feedId}, key, title, url, embed, state, ${now}, ${now}
    from json_to_recordset(${JSON.stringify(rows, storableIn)}::json)
      as row (id uuid, key text, title text, url text, embed json, state text, place integer)
    order by place
    on conflict (feed_id, key) do update set listed_at = excluded.listed_at
    returning state, xmax = 0 as made`.execute(trx)
  return written.filter(({ state, made }) => made && state === 'new').length
}
