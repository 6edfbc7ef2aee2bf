import { createHmac, timingSafeEqual } from 'node:crypto'
import { subkey } from '@guildhall/outbound/sealed'
import { newId } from '@guildhall/service/id'
import type { ChatUser } from '../clients/chat.ts'
import type { Db, SessionRow, Trx } from '../db.ts'
import { randomValue, sha256 } from '../hash.ts'

const DAY_MS = 24 * 3_600_000
/** A session ends this long after it was last used, and this long after it began (decisions.md § 0). */
const IDLE_MS = 7 * DAY_MS
const LONGEST_MS = 30 * DAY_MS
export const LONGEST_SECONDS = LONGEST_MS / 1000
/** How much later than its last use a session may end. */
const SEEN_EVERY_MS = 3_600_000

/** Begins a session and answers what its cookie holds: the id and our signature of it. */
export async function insertSession(
  trx: Trx,
  { id: chat_user_id, username }: ChatUser,
  { secretKey, now }: { secretKey: string; now: Date },
): Promise<string> {
  const secret = randomValue()
  const expires_at = new Date(now.getTime() + LONGEST_MS)
  const times = { created_at: now, seen_at: now, expires_at }
  const row = { id: newId(), sha256: sha256(secret), chat_user_id, username, ...times }
  await trx.insertInto('member_sessions').values(row).execute()
  return `${secret}.${signature(secret, secretKey)}`
}

/** The session of a cookie that we signed, while it lasts. A forged one costs no query. */
export async function sessionOf(
  db: Db,
  value: string,
  { secretKey, now }: { secretKey: string; now: Date },
): Promise<SessionRow | undefined> {
  const [secret = '', signed = ''] = value.split('.')
  if (!equal(signed, signature(secret, secretKey))) return undefined
  const row = await db
    .selectFrom('member_sessions')
    .selectAll()
    .where('sha256', '=', sha256(secret))
    .where('expires_at', '>', now)
    .where('seen_at', '>', new Date(now.getTime() - IDLE_MS))
    .executeTakeFirst()
  if (row && row.seen_at.getTime() < now.getTime() - SEEN_EVERY_MS) await touch(db, row.id, now)
  return row
}

const touch = (db: Db, id: string, now: Date) =>
  db.updateTable('member_sessions').set({ seen_at: now }).where('id', '=', id).execute()

export const sessionById = (db: Db, id: string): Promise<SessionRow | undefined> =>
  db.selectFrom('member_sessions').selectAll().where('id', '=', id).executeTakeFirst()

/** The session that ended; nothing where it had ended before. */
export function deleteSession(trx: Trx, id: string): Promise<SessionRow | undefined> {
  return trx.deleteFrom('member_sessions').where('id', '=', id).returningAll().executeTakeFirst()
}

export async function pruneSessions(db: Db, now: Date) {
  await db
    .deleteFrom('member_sessions')
    .where((where) =>
      where.or([
        where('expires_at', '<=', now),
        where('seen_at', '<=', new Date(now.getTime() - IDLE_MS)),
      ]),
    )
    .execute()
}

const signature = (secret: string, secretKey: string) =>
  createHmac('sha256', subkey(secretKey, 'session cookie')).update(secret).digest('base64url')

function equal(a: string, b: string) {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
