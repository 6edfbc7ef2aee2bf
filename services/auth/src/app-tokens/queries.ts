import { sql } from 'kysely'
import type { AppTokenRow, Db, Trx } from '../db.ts'

/** Holds a person's app tokens until the transaction ends: they are counted under it. */
export async function lockPerson(trx: Trx, chatUserId: string) {
  const key = `app_tokens:${chatUserId}`
  await sql`select pg_advisory_xact_lock(hashtextextended(${key}::text, 0))`.execute(trx)
}

/** A person's app tokens that count, the oldest first. One that ended itself by logout counts no more. */
export function liveTokens(db: Db, chatUserId: string, now: Date): Promise<AppTokenRow[]> {
  return db
    .selectFrom('app_tokens')
    .selectAll()
    .where('chat_user_id', '=', chatUserId)
    .where('expires_at', '>', now)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('revoked_tokens')
            .select('jti')
            .where('jti', '=', sql<string>`app_tokens.id::text`),
        ),
      ),
    )
    .orderBy('id')
    .execute()
}

export async function insertAppToken(trx: Trx, row: AppTokenRow) {
  await trx.insertInto('app_tokens').values(row).execute()
}

export function removeAppToken(
  trx: Trx,
  chatUserId: string,
  id: string,
): Promise<AppTokenRow | undefined> {
  return trx
    .deleteFrom('app_tokens')
    .where('chat_user_id', '=', chatUserId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

/** Deletes what has ended by itself. */
export async function pruneAppTokens(db: Db, now: Date) {
  await db.deleteFrom('app_tokens').where('expires_at', '<', now).execute()
}
