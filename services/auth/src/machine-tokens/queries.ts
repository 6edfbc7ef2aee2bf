import type { MachineToken, Scope } from '@guildhall/contracts/tokens'
import type { Db, MachineTokenRow, Trx } from '../db.ts'

/** How much of a value stays readable, so that an officer can tell tokens apart (decisions.md § 1). */
export const DISPLAY_CHARS = 11

export function tokensOfOrg(db: Db, orgId: number): Promise<MachineTokenRow[]> {
  return db
    .selectFrom('machine_tokens')
    .selectAll()
    .where('org_id', '=', orgId)
    .orderBy('id')
    .execute()
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
    .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', now)]))
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
