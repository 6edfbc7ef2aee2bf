import { type FeedItem, HISTORY_ROWS } from '@guildhall/contracts/alerts'
import { sql } from 'kysely'
import type { Db, Trx } from '../db.ts'

/** The last runs of a feed, the newest first. */
export async function lastRuns(db: Db, feedId: string) {
  const rows = await db
    .selectFrom('alert_runs')
    .select(['started_at', 'duration_ms', 'found', 'new', 'posted', 'error'])
    .where('feed_id', '=', feedId)
    .orderBy('id', 'desc')
    .limit(HISTORY_ROWS)
    .execute()
  return rows.map(({ started_at, ...rest }) => ({ started_at: started_at.toISOString(), ...rest }))
}

const SHOWN = ['id', 'title', 'url', 'state', 'error', 'created_at'] as const

/** The last items of a feed: those of unknown outcome, those that were refused, then the newest. */
export async function lastItems(db: Db, feedId: string): Promise<FeedItem[]> {
  const rows = await db
    .selectFrom('items')
    .select(SHOWN)
    .where('feed_id', '=', feedId)
    .orderBy(sql`state = 'uncertain'`, 'desc')
    .orderBy(sql`state = 'new' and error is not null`, 'desc')
    .orderBy('seq', 'desc')
    .limit(HISTORY_ROWS)
    .execute()
  return rows.map(shown)
}

/** Makes an uncertain item new again; nothing where it is not uncertain. */
export async function requeue(
  trx: Trx,
  feedId: string,
  itemId: string,
): Promise<FeedItem | undefined> {
  const row = await trx
    .updateTable('items')
    .set({ state: 'new', error: null })
    .where('id', '=', itemId)
    .where('feed_id', '=', feedId)
    .where('state', '=', 'uncertain')
    .returning(SHOWN)
    .executeTakeFirst()
  return row && shown(row)
}

/** The state of an item; nothing where the feed has none with this id. */
export async function stateOf(db: Db, feedId: string, itemId: string) {
  const row = await db
    .selectFrom('items')
    .select('state')
    .where('id', '=', itemId)
    .where('feed_id', '=', feedId)
    .executeTakeFirst()
  return row?.state
}

const shown = <T extends { created_at: Date }>({ created_at, ...rest }: T) => ({
  ...rest,
  created_at: created_at.toISOString(),
})
