import { enqueue, type Outgoing } from '@guildhall/bus/outbox'
import { REVOKED_STREAM, TOLD } from '@guildhall/bus/streams'
import { REVOKED_BUCKET } from '@guildhall/contracts/auth'
import { newId } from '@guildhall/service/id'
import { sql } from 'kysely'
import type { Db, PairRow, Trx } from '../db.ts'
import { sha256 } from '../hash.ts'

/**
 * The pair of a refresh token, its whole family locked until the transaction ends: a refresh and a
 * revocation at once would else leave a pair that the revocation has not seen.
 */
export async function lockPair(trx: Trx, refreshToken: string): Promise<PairRow | undefined> {
  const found = await pairOf(trx, refreshToken)
  if (!found) return undefined
  await lockFamily(trx, found.family_id)
  return pairOf(trx, refreshToken) // as it is now that nobody else works on the family
}

/** The pair of a refresh token, not locked. */
export function pairOf(trx: Trx, refreshToken: string): Promise<PairRow | undefined> {
  return trx
    .selectFrom('token_pairs')
    .selectAll()
    .where('refresh_sha256', '=', sha256(refreshToken))
    .executeTakeFirst()
}

async function lockFamily(trx: Trx, familyId: string) {
  await sql`select pg_advisory_xact_lock(hashtextextended(${familyId}::text, 0))`.execute(trx)
}

export async function markSpent(trx: Trx, id: string, now: Date) {
  await trx
    .updateTable('token_pairs')
    .set({ spent_at: now })
    .where('id', '=', id)
    .where('spent_at', 'is', null)
    .execute()
}

/** True if a pair that followed this one was itself refreshed. */
export async function successorUsed(trx: Trx, id: string): Promise<boolean> {
  const used = await trx
    .selectFrom('token_pairs')
    .select('id')
    .where('parent_id', '=', id)
    .where('spent_at', 'is not', null)
    .limit(1)
    .executeTakeFirst()
  return used !== undefined
}

/** The family of an access token that was issued here, if it is still kept. */
export async function familyOfAccess(trx: Trx, jti: string): Promise<string | undefined> {
  const row = await trx
    .selectFrom('token_pairs')
    .select('family_id')
    .where('access_jti', '=', jti)
    .executeTakeFirst()
  return row?.family_id
}

/** Revokes families in one order for everybody, so that two who do it with the same ones never wait for each other. */
export async function revokeFamilies(trx: Trx, familyIds: readonly string[], now: Date) {
  for (const id of [...new Set(familyIds)].sort()) await revokeFamily(trx, id, now)
}

interface Revoked {
  jti: string
  expires_at: Date
}

/** Postgres takes 65 535 parameters in a statement. */
const MOST_AT_ONCE = 5_000

/** Deletes a family's refresh tokens and ends those of its access tokens that still count. */
export async function revokeFamily(trx: Trx, familyId: string, now: Date) {
  await lockFamily(trx, familyId)
  const pairs = await trx
    .deleteFrom('token_pairs')
    .where('family_id', '=', familyId)
    .returning(['access_jti', 'access_expires_at'])
    .execute()
  const access = pairs.map(({ access_jti: jti, access_expires_at: expires_at }) => ({
    jti,
    expires_at,
  }))
  await revokeAccess(
    trx,
    access.filter(({ expires_at }) => expires_at > now),
  )
}

/** Ends access tokens, here and, by the bucket, at every gateway; of many each part in one statement. */
export async function revokeAccess(trx: Trx, tokens: readonly Revoked[]) {
  for (let n = 0; n < tokens.length; n += MOST_AT_ONCE) {
    const rows = tokens.slice(n, n + MOST_AT_ONCE)
    await trx
      .insertInto('revoked_tokens')
      .values(rows)
      .onConflict((on) => on.doNothing())
      .execute()
    await enqueue(trx, ...rows.map(revocation))
  }
}

/** What the bucket says of a revoked token. */
export const revocation = ({ jti, expires_at }: Revoked): Outgoing => ({
  id: newId(),
  stream: REVOKED_STREAM,
  subject: `$KV.${REVOKED_BUCKET}.${jti}`,
  payload: { exp: Math.floor(expires_at.getTime() / 1000) },
})

/** True while a change that gateways must hear of has waited in the outbox for longer than this. */
export async function isToldLate(db: Db, ms: number): Promise<boolean> {
  const row = await db
    .selectFrom('outbox')
    .select('id')
    .where('sent_at', 'is', null)
    .where('stream', 'in', [REVOKED_STREAM, TOLD])
    .where('created_at', '<', sql<Date>`now() - make_interval(secs => ${ms / 1000})`)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

export async function isRevokedToken(db: Db, jti: string): Promise<boolean> {
  const row = await db
    .selectFrom('revoked_tokens')
    .select('jti')
    .where('jti', '=', jti)
    .executeTakeFirst()
  return row !== undefined
}

/** Every revocation that still matters. */
export function listRevoked(db: Db, now: Date) {
  return db.selectFrom('revoked_tokens').selectAll().where('expires_at', '>', now).execute()
}

/** Deletes what has ended by itself. */
export async function prunePairs(db: Db, now: Date) {
  await db.deleteFrom('token_pairs').where('expires_at', '<', now).execute()
  await db.deleteFrom('sign_in_codes').where('expires_at', '<', now).execute()
  await db.deleteFrom('revoked_tokens').where('expires_at', '<', now).execute()
}
