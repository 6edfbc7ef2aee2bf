import { audit, enqueue } from '@guildhall/bus/outbox'
import { memberClaimed } from '@guildhall/contracts/store-members'
import { transact } from '@guildhall/db/transact'
import { sql } from 'kysely'
import type { Db, Membership, Trx } from '../db.ts'
import { ensurePerson, lockPeople } from './people.ts'

/** Who proved it, for the audit line, and when. */
export interface By {
  actor: Parameters<typeof audit>[1]
  now: Date
}

/** Memberships that officers gave this email, of people who have proved nothing: they are of whoever proves it. */
const claimable = (db: Db, email: string) =>
  db
    .selectFrom('memberships as m')
    .innerJoin('people as p', 'p.id', 'm.person')
    .select('m.id')
    .where('m.email', '=', email)
    .where('p.email', 'is', null)
    .where('p.chat_user_id', 'is', null)

/** Gives the owner of a proved email what officers noted under it, in every org. Nothing is written where there is nothing. */
export async function claim(db: Db, email: string, by: By): Promise<void> {
  if (!(await claimable(db, email).executeTakeFirst())) return
  await transact(db, async (trx) => {
    await lockPeople(trx)
    const person = await ensurePerson(trx, { email }, by.now)
    await gather(trx, { email, into: person.id, people: [person.id] }, by)
  })
}

interface Gathering {
  /** The proved email: what officers noted under it comes along. */
  email: string
  /** Those who are one person, and which of them stays. */
  people: string[]
  into: string
}

/**
 * Gives one person the memberships of several and those to claim: as they are, or joined with the one of that
 * org. Answers how many were joined. Under `lockPeople`, so that nobody else changes whose they are; all of
 * them are locked at once, by id.
 */
export async function gather(trx: Trx, { email, people, into }: Gathering, by: By) {
  const locked = await trx
    .selectFrom('memberships')
    .selectAll()
    .where((where) =>
      where.or([where('person', 'in', people), where('id', 'in', claimable(trx, email))]),
    )
    .orderBy('id')
    .forUpdate()
    .execute()
  const kept = new Map(locked.filter(({ person }) => person === into).map((m) => [m.org_id, m]))
  let joined = 0
  for (const membership of locked) {
    const { id, org_id, person } = membership
    // its email may have been changed while we waited
    const theirs = people.includes(person) || membership.email === email
    if (!theirs || person === into) continue
    const own = kept.get(org_id)
    if (own) joined += 1
    kept.set(org_id, own ? await fold(trx, membership, own) : membership)
    if (!own)
      await trx.updateTable('memberships').set({ person: into }).where('id', '=', id).execute()
    await dropBare(trx, person)
    const said = { user_id: id, into: own?.id ?? id }
    await enqueue(trx, audit(memberClaimed, by.actor, { id: org_id }, said))
  }
  return joined
}

/** Moves points and orders of one membership to another, and what the other has not said of itself. */
async function fold(trx: Trx, old: Membership, kept: Membership): Promise<Membership> {
  const [from, into] = [old.id, kept.id]
  await trx.updateTable('ledger').set({ membership: into }).where('membership', '=', from).execute()
  await trx.updateTable('orders').set({ membership: into }).where('membership', '=', from).execute()
  await trx.deleteFrom('memberships').where('id', '=', from).execute()
  const details = {
    name: kept.name || old.name,
    email: kept.email ?? old.email,
    username: kept.username ?? old.username,
    student_id: kept.student_id ?? old.student_id,
    class_standing: kept.class_standing ?? old.class_standing,
    major: kept.major ?? old.major,
  }
  const profile_fields = { ...old.profile_fields, ...kept.profile_fields }
  await trx
    .updateTable('memberships')
    .set({ ...details, profile_fields: JSON.stringify(profile_fields) })
    .where('id', '=', into)
    .execute()
  return { ...kept, ...details, profile_fields }
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
