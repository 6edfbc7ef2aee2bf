import { sql } from 'kysely'
import type { Db, PostRow, PostSettingsRow, Trx } from '../db.ts'

/** What an officer sends; `time_zone` stays as it is where it is undefined. */
export interface WantedPost {
  events_post_at: string | null
  channel_id: string | null
  time_zone?: string | null | undefined
}

export const postSettingsOf = (db: Db, orgId: number): Promise<PostSettingsRow | undefined> =>
  db.selectFrom('post_settings').selectAll().where('org_id', '=', orgId).executeTakeFirst()

/** Makes or changes them; `made` is false where there were some. */
export function putPostSettings(trx: Trx, org_id: number, wanted: WantedPost, now: Date) {
  const { time_zone, ...rest } = wanted
  const row = { ...rest, changed_at: now }
  // another channel alone lets today's post, which was refused, still go out
  const zone = time_zone === undefined ? sql`post_settings.time_zone` : sql`excluded.time_zone`
  const since = sql<Date>`case when (post_settings.events_post_at, post_settings.time_zone)
    is distinct from (excluded.events_post_at, ${zone})
    then excluded.changed_at else post_settings.changed_at end`
  return trx
    .insertInto('post_settings')
    .values({ ...row, org_id, time_zone: time_zone ?? null })
    .onConflict((on) =>
      on.column('org_id').doUpdateSet({
        ...rest,
        changed_at: since,
        ...(time_zone !== undefined && { time_zone }),
      }),
    )
    .returningAll()
    .returning(sql<boolean>`xmax = 0`.as('made')) // zero in a row that no update has touched
    .executeTakeFirstOrThrow()
}

const SHOWN = ['state', 'events', 'error', 'updated_at'] as const

/** The latest day of an org. */
export const lastPost = (db: Db, orgId: number): Promise<PostRow | undefined> =>
  db
    .selectFrom('event_posts')
    .select([...SHOWN, sql<string>`day::text`.as('day')])
    .where('org_id', '=', orgId)
    .orderBy('event_posts.day', 'desc')
    .limit(1)
    .executeTakeFirst()

/** The orgs that want a post, after the org with the id `after`. */
export const scheduledPosts = (db: Db, after: number, limit: number) =>
  db
    .selectFrom('post_settings')
    .select(['org_id', 'channel_id', 'events_post_at', 'time_zone', 'changed_at'])
    .where('events_post_at', 'is not', null)
    .where('org_id', '>', after)
    .orderBy('org_id')
    .limit(limit)
    .execute()

/** Deletes what became of days before this one. */
export const prunePosts = (db: Db, before: Date) =>
  db.deleteFrom('event_posts').where('updated_at', '<', before).execute()
