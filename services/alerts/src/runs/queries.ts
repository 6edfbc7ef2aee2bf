import type { Db, FeedRow } from '../db.ts'

/** The feed with this key; nothing where the org has none. */
export function findFeed(db: Db, orgId: number, key: string): Promise<FeedRow | undefined> {
  return db
    .selectFrom('feeds')
    .selectAll()
    .where('org_id', '=', orgId)
    .where('key', '=', key)
    .executeTakeFirst()
}

/** Every feed that runs by itself, the one that waits longest first. */
export function enabledFeeds(db: Db) {
  return db
    .selectFrom('feeds')
    .select(['org_id', 'key', 'enabled', 'every_hours', 'last_run_at'])
    .where('enabled', '=', true)
    .orderBy('last_run_at', (order) => order.asc().nullsFirst())
    .execute()
}
