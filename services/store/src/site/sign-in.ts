import { audit, enqueue } from '@guildhall/bus/outbox'
import type { Caller } from '@guildhall/contracts/caller'
import { memberAdded, memberChanged } from '@guildhall/contracts/points'
import type { memberLogin } from '@guildhall/contracts/store-members'
import { transact } from '@guildhall/db/transact'
import type { z } from 'zod'
import type { Membership, Trx } from '../db.ts'
import type { Deps } from '../deps.ts'
import { refuseTaken } from '../members/rules.ts'
import { claim } from '../people/claim.ts'
import { enterOrg } from '../people/join.ts'
import { ownMembership } from '../people/own.ts'
import { ensurePerson, lockPeople } from '../people/people.ts'

type Said = z.output<typeof memberLogin.body>
const FIELDS = ['name', 'username', 'student_id', 'class_standing', 'major'] as const

/** Makes the owner of a verified email a member of the org; what the org knows of them already stays. */
export async function signIn(
  { db, now }: Deps,
  org: { id: number },
  { said, caller }: { said: Said; caller: Caller },
): Promise<void> {
  await claim(db, said.email, { actor: caller, now: now() })
  const known = await ownMembership(db, org.id, { email: said.email })
  if (known && Object.keys(missing(known, said)).length === 0) return
  const enter = async (trx: Trx) => {
    await lockPeople(trx)
    const person = await ensurePerson(trx, { email: said.email }, now())
    const member = await ownMembership(trx, org.id, { email: said.email })
    if (member) return fill(trx, org, { member, said, caller, now: now() })
    const name = said.name ?? '' // never the email's: at a school that is the student id
    const joining = { ...missing(undefined, said), name, email: said.email }
    const user_id = await enterOrg(trx, { ...joining, org_id: org.id, person: person.id }, now())
    await enqueue(trx, audit(memberAdded, caller, org, { user_id }))
  }
  await transact(db, enter).catch(refuseTaken)
}

interface Filling {
  member: Membership
  said: Said
  caller: Caller
  now: Date
}

async function fill(trx: Trx, org: { id: number }, { member, said, caller, now }: Filling) {
  const found = missing(member, said)
  const fields = Object.keys(found)
  if (fields.length === 0) return
  await trx
    .updateTable('memberships')
    .set({ ...found, updated_at: now })
    .where('id', '=', member.id)
    .execute()
  await enqueue(trx, audit(memberChanged, caller, org, { user_id: member.id, fields }))
}

/** What is said and not known yet. */
function missing(known: Membership | undefined, said: Said) {
  const fresh = FIELDS.flatMap((field) =>
    said[field] && !known?.[field] ? [[field, said[field]]] : [],
  )
  return Object.fromEntries(fresh) as Partial<Record<(typeof FIELDS)[number], string>>
}
