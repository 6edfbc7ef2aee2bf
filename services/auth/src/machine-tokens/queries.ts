import type { MachineToken, Scope } from '@guildhall/contracts/tokens'
import { sql } from 'kysely'
import type { Db, MachineTokenRow, Trx } from '../db.ts'

/** How much of a value stays readable, so that an officer can tell tokens apart (decisions.md § 1). */
export const DISPLAY_CHARS = 11

/** Days that an expired token is still shown. */
const EXPIRED_DAYS = 30
const DAY_MS = 86_400_000

/** True for a token that counts. */
const isLive = (now: Date) =>
  sql<boolean>`(machine_tokens.expires_at is null or machine_tokens.expires_at > ${now})`

/**
 * Up to `limit` tokens of an org after the one at `before`: officers' before those of members' CLIs, of each
 * those that count before expired ones, and of these the newest first.
 */
export function tokensOfOrg(
  db: Db,
  orgId: number,
  { now, before, limit }: { now: Date; before: string | undefined; limit: number },
) {
  const place = sql`(chat_user_id is not null, not ${isLive(now)})`
  const query = db
    .selectFrom('machine_tokens')
    .selectAll()
    .select(
      sql<string>`concat_ws(' ', chat_user_id is not null, not ${isLive(now)}, id)`.as('place'),
    )
    .where('org_id', '=', orgId)
    .orderBy(place)
    .orderBy('id', 'desc')
    .limit(limit)
  if (before === undefined) return query.execute()
  const [ofMember, expired, id] = before.split(' ')
  const last = sql`(${ofMember}::boolean, ${expired}::boolean)`
  return query
    .where(sql<boolean>`${place} > ${last} or (${place} = ${last} and id < ${id}::uuid)`)
    .execute()
}

/** How many tokens of an org count, without those of members' CLIs. */
export async function liveTokenCount(trx: Trx, orgId: number, now: Date): Promise<number> {
  const { count } = await trx
    .selectFrom('machine_tokens')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .where('org_id', '=', orgId)
    .where('chat_user_id', 'is', null)
    .where(isLive(now))
    .executeTakeFirstOrThrow()
  return Number(count)
}

export function deleteToken(
  trx: Trx,
  orgId: number,
  id: string,
): Promise<MachineTokenRow | undefined> {
  return trx
    .deleteFrom('machine_tokens')
    .where('org_id', '=', orgId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

/** The token of this hash, if it has not expired. */
export function tokenByHash(
  db: Db,
  sha256: string,
  now: Date,
): Promise<MachineTokenRow | undefined> {
  return db
    .selectFrom('machine_tokens')
    .selectAll()
    .where('sha256', '=', sha256)
    .where(isLive(now))
    .executeTakeFirst()
}

/** The token of an org with this id, if it has not expired. */
export function tokenById(
  db: Db,
  orgId: number,
  id: string,
  now: Date,
): Promise<MachineTokenRow | undefined> {
  return db
    .selectFrom('machine_tokens')
    .selectAll()
    .where('org_id', '=', orgId)
    .where('id', '=', id)
    .where(isLive(now))
    .executeTakeFirst()
}

/** Notes the use of a token, at most once a minute. */
export async function touchToken(db: Db, id: string, now: Date) {
  await db
    .updateTable('machine_tokens')
    .set({ last_used_at: now })
    .where('id', '=', id)
    .where((where) =>
      where.or([
        where('last_used_at', 'is', null),
        where('last_used_at', '<', new Date(now.getTime() - 60_000)),
      ]),
    )
    .execute()
}

/** Whose CLI a token is of; null for one that an officer made. */
export const memberOf = ({ chat_user_id, username }: MachineTokenRow) =>
  chat_user_id === null || username === null ? null : { chat_user_id, username }

/** Deletes what expired so long ago that nobody looks for it. */
export async function pruneTokens(db: Db, now: Date) {
  const end = new Date(now.getTime() - EXPIRED_DAYS * DAY_MS)
  await db.deleteFrom('machine_tokens').where('expires_at', '<', end).execute()
}

/** A token as officers see it: never its value. */
export function shown(row: MachineTokenRow): MachineToken {
  const { id, name, kind, limits, display, created_by } = row
  return {
    id,
    name,
    kind,
    scopes: row.scopes as Scope[],
    limits,
    display,
    created_by,
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at?.toISOString() ?? null,
    last_used_at: row.last_used_at?.toISOString() ?? null,
  }
}
