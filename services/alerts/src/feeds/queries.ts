import { newId } from '@guildhall/service/id'
import { sql } from 'kysely'
import type { Db, FeedRow, Trx } from '../db.ts'
import type { Chosen, Counts } from './rules.ts'

/** Feeds of an org with how many of their items wait and are uncertain, by key. */
export async function feedsOf(db: Db, orgId: number, key?: string): Promise<(FeedRow & Counts)[]> {
  const count = (states: string[]) =>
    sql<number>`(select count(*)::int from items where feed_id = feeds.id and state = any(${states}))`
  let reading = db
    .selectFrom('feeds')
    .selectAll()
    .select([
      count(['new', 'claimed', 'posting']).as('waiting'),
      count(['uncertain']).as('uncertain'),
    ])
    .where('org_id', '=', orgId)
  if (key !== undefined) reading = reading.where('key', '=', key)
  return reading.orderBy('key').execute()
}

/** Whoever makes or changes feeds of an org does so one after the other: they are counted. */
export async function lockFeeds(trx: Trx, orgId: number): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtext('alerts.feeds'), ${orgId})`.execute(trx)
}

export async function countFeeds(trx: Trx, orgId: number): Promise<number> {
  const { feeds } = await trx
    .selectFrom('feeds')
    .select(({ fn }) => fn.countAll<string>().as('feeds'))
    .where('org_id', '=', orgId)
    .executeTakeFirstOrThrow()
  return Number(feeds)
}

export async function insertFeed(
  trx: Trx,
  feed: Chosen & { org_id: number; key: string; created_at: Date },
): Promise<void> {
  const never = { seeded_at: null, last_run_at: null, last_error: null }
  const free = { lease_id: null, leased_until: null }
  const config = JSON.stringify(feed.config)
  await trx
    .insertInto('feeds')
    .values({ id: newId(), ...feed, config, ...never, ...free })
    .execute()
}

export async function updateFeed(trx: Trx, id: string, chosen: Chosen): Promise<void> {
  const { every_hours, enabled, config } = chosen
  await trx
    .updateTable('feeds')
    .set({ every_hours, enabled, config: JSON.stringify(config) })
    .where('id', '=', id)
    .execute()
}

/** Deletes the feed with its items and runs. */
export async function removeFeed(trx: Trx, orgId: number, key: string): Promise<void> {
  await trx.deleteFrom('feeds').where('org_id', '=', orgId).where('key', '=', key).execute()
}
