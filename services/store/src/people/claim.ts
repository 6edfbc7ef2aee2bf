import type { Db, Trx } from '../db.ts'
import { bring } from './bring.ts'
import { ensurePerson, lockPeople } from './people.ts'

/**
 * Memberships that officers gave this email, and that nobody else holds by a chat account: they are of
 * whoever proves the email.
 */
const claimable = (db: Db, email: string) =>
  db
    .selectFrom('memberships as m')
    .innerJoin('people as p', 'p.id', 'm.person')
    .selectAll('m')
    .where('m.email', '=', email)
    .where('p.chat_user_id', 'is', null)
    .where((where) => where.or([where('p.email', 'is', null), where('p.email', '!=', email)]))
    .orderBy('m.id')

/** Gives the owner of a proved email what officers noted under it, in every org. Nothing is written where there is nothing. */
export async function claim(db: Db, email: string, now: Date): Promise<void> {
  const open = await claimable(db, email).executeTakeFirst()
  if (open) await db.transaction().execute((trx) => claimIn(trx, email, now))
}

/** As `claim`, and answers the person, who then exists. Takes `lockPeople`. */
export async function claimIn(trx: Trx, email: string, now: Date) {
  await lockPeople(trx)
  const person = await ensurePerson(trx, { email }, now)
  for (const membership of await claimable(trx, email).execute())
    await bring(trx, membership, person.id)
  return person
}
