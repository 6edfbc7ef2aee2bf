import type { Sections } from '@guildhall/contracts/dashboard'
import type { Problem } from '@guildhall/contracts/notifications'
import type { Db } from '../db.ts'
import { lastPost } from '../posts/queries.ts'
import { settingsOf } from '../settings/queries.ts'

/** What the overview of an org shows of its calendar. */
export async function sectionsOf(db: Db, orgId: number): Promise<Sections> {
  const settings = await settingsOf(db, orgId)
  return {
    calendar: {
      sync_enabled: settings?.calendar_sync_enabled ?? false,
      last_sync_at: settings?.last_sync_at?.toISOString() ?? null,
    },
  }
}

/** What does not work in the org's calendar: its sync, and the post of a day. */
export async function problemsOf(db: Db, orgId: number): Promise<Problem[]> {
  return (await Promise.all([failedSync(db, orgId), failedPost(db, orgId)])).flat()
}

async function failedPost(db: Db, orgId: number): Promise<Problem[]> {
  const post = await lastPost(db, orgId)
  if (!post || !['refused', 'uncertain'].includes(post.state)) return []
  const message = `The events of ${post.day}: ${post.error}`
  return [{ kind: 'sync', key: 'events_post', message, at: post.updated_at.toISOString() }]
}

/** The org's sync, where the last one that is over failed. */
async function failedSync(db: Db, orgId: number): Promise<Problem[]> {
  const run = await db
    .selectFrom('runs')
    .select(['status', 'error', 'finished_at'])
    .where('org_id', '=', orgId)
    .where('finished_at', 'is not', null)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (run?.status !== 'failed') return []
  const at = run.finished_at?.toISOString() ?? null
  return [{ kind: 'sync', key: 'calendar', message: run.error ?? 'The sync failed', at }]
}
