import { newId } from '@guildhall/service/id'
import { sql } from 'kysely'
import type { Db, Trx } from '../db.ts'

/** What somebody has proved of themselves: one email, or one chat user. */
export type Proved = { email: string } | { chat_user_id: string }

const LOCK = sql`hashtext('store.people')`

/**
 * Holds, to the end of the transaction, everybody else off who would change who is whom. It comes before
 * every row that such a transaction locks; afterwards memberships, then orders, then products, each by id.
 */
export async function lockPeople(trx: Trx) {
  await sql`select pg_advisory_xact_lock(${LOCK})`.execute(trx)
}

/**
 * As `lockPeople`, for those who change nothing of it but need that no memberships are joined until they end:
 * any number of them at once. For what locks many memberships; one is locked by `lockMember`.
 */
export async function holdPeople(trx: Trx) {
  await sql`select pg_advisory_xact_lock_shared(${LOCK})`.execute(trx)
}

export const personBy = (db: Db, proved: Proved) =>
  db
    .selectFrom('people')
    .selectAll()
    .where((where) => where.and(proved))
    .executeTakeFirst()

/** The person of this identity, made where there is none. Under `lockPeople`. */
export async function ensurePerson(trx: Trx, proved: Proved, now: Date) {
  const known = await personBy(trx, proved)
  if (known) return known
  const person = { id: newId(), email: null, chat_user_id: null, created_at: now, ...proved }
  await trx.insertInto('people').values(person).execute()
  return person
}
