import { ask } from '@guildhall/bus/calls'
import { audit, enqueue } from '@guildhall/bus/outbox'
import type { Caller } from '@guildhall/contracts/caller'
import { findMembership } from '@guildhall/contracts/members'
import { memberAdded } from '@guildhall/contracts/points'
import { transact } from '@guildhall/db/transact'
import { newId } from '@guildhall/service/id'
import type { Insertable } from 'kysely'
import type { Tables, Trx } from '../db.ts'
import type { Deps } from '../deps.ts'
import { memberNotFound } from '../members/rules.ts'
import { ownMembership } from './own.ts'
import { ensurePerson, lockPeople } from './people.ts'

type Details = Partial<
  Pick<
    Insertable<Tables['memberships']>,
    'email' | 'username' | 'student_id' | 'class_standing' | 'major' | 'profile_fields'
  >
>

export interface NewMember extends Details {
  org_id: number
  person: string
  name: string
}

const UNKNOWN = { email: null, username: null, student_id: null, class_standing: null, major: null }

const insert = (trx: Trx, member: NewMember, now: Date) =>
  trx
    .insertInto('memberships')
    .values({ id: newId(), ...UNKNOWN, ...member, created_at: now, updated_at: now })
    .returning('id')

/** Throws violations of `memberships_once`, `memberships_email` and `memberships_username`. */
export async function insertMembership(trx: Trx, member: NewMember, now: Date): Promise<string> {
  const { id } = await insert(trx, member, now).executeTakeFirstOrThrow()
  return id
}

/**
 * As `insertMembership`, for the owner of a proved email: an officer who noted it for somebody else does not
 * keep them out. It stays empty here then; their person has it.
 */
export async function enterOrg(trx: Trx, member: NewMember, now: Date): Promise<string> {
  const entered = await insert(trx, member, now)
    .onConflict((on) => on.constraint('memberships_email').doNothing())
    .executeTakeFirst()
  return entered ? entered.id : insertMembership(trx, { ...member, email: null }, now)
}

/** Makes a chat user a member whom the org can award. Throws 404 for who is not on its server. */
export async function joinByChat(
  { db, bus, now }: Deps,
  org: { id: number },
  { chat_user_id, by }: { chat_user_id: string; by: Caller },
) {
  if (await ownMembership(db, org.id, { chat_user_id })) return
  const { member, name } = await ask(bus, findMembership, { org_id: org.id, chat_user_id })
  if (!member) throw memberNotFound()
  await transact(db, async (trx) => {
    await lockPeople(trx)
    if (await ownMembership(trx, org.id, { chat_user_id })) return
    const person = await ensurePerson(trx, { chat_user_id }, now())
    const joining = { org_id: org.id, person: person.id, name: name ?? '', email: person.email }
    const user_id = await enterOrg(trx, joining, now())
    await enqueue(trx, audit(memberAdded, by, org, { user_id }))
  })
}
