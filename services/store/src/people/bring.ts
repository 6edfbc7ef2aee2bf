import { sql } from 'kysely'
import type { Membership, Trx } from '../db.ts'

/**
 * Gives a membership to a person: as it is, or joined with the one that they have in that org. True where it
 * was joined. Under `lockPeople`.
 */
export async function bring(trx: Trx, membership: Membership, person: string): Promise<boolean> {
  const { id, org_id, person: before } = membership
  const own = await trx
    .selectFrom('memberships')
    .select('id')
    .where('org_id', '=', org_id)
    .where('person', '=', person)
    .executeTakeFirst()
  if (own) await fold(trx, id, own.id)
  else await trx.updateTable('memberships').set({ person }).where('id', '=', id).execute()
  await dropBare(trx, before)
  return own !== undefined
}

/** Moves points and orders of one membership to another, and what the other has not said of itself. */
async function fold(trx: Trx, from: string, into: string) {
  const both = await trx
    .selectFrom('memberships')
    .selectAll()
    .where('id', 'in', [from, into])
    .orderBy('id')
    .forUpdate()
    .execute()
  const old = both.find(({ id }) => id === from)
  const kept = both.find(({ id }) => id === into)
  if (!old || !kept) return
  await trx.updateTable('ledger').set({ membership: into }).where('membership', '=', from).execute()
  await trx.updateTable('orders').set({ membership: into }).where('membership', '=', from).execute()
  await trx.deleteFrom('memberships').where('id', '=', from).execute()
  await trx
    .updateTable('memberships')
    .set({
      name: kept.name || old.name,
      email: kept.email ?? old.email,
      username: kept.username ?? old.username,
      student_id: kept.student_id ?? old.student_id,
      class_standing: kept.class_standing ?? old.class_standing,
      major: kept.major ?? old.major,
      profile_fields: JSON.stringify({ ...old.profile_fields, ...kept.profile_fields }),
    })
    .where('id', '=', into)
    .execute()
}

/** Deletes a person who has proved nothing and is in no org any more. */
async function dropBare(trx: Trx, person: string) {
  await trx
    .deleteFrom('people')
    .where('id', '=', person)
    .where('email', 'is', null)
    .where('chat_user_id', 'is', null)
    .where(sql<boolean>`not exists (select from memberships where person = people.id)`)
    .execute()
}
