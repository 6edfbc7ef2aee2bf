import { sql } from 'kysely'
import type { Owner, Trx } from './db.ts'

/** Whose rows a request is about. The org is the credential's or the URL's, never the body's. */
export const ownerOf = (org: { id: number }, chat_user_id: string): Owner => ({
  org_id: org.id,
  chat_user_id,
})

/**
 * Lets one transaction at a time write several rows of a member, until it ends: facts, deletions and turns
 * lock rows in different orders and would deadlock. Take it first.
 */
export async function lockOwner(trx: Trx, { org_id, chat_user_id }: Owner) {
  await sql`select pg_advisory_xact_lock(${org_id}::integer, hashtext(${chat_user_id}))`.execute(
    trx,
  )
}
