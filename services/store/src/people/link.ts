import { audit, enqueue } from '@guildhall/bus/outbox'
import { peopleLinked } from '@guildhall/contracts/store-members'
import { transact } from '@guildhall/db/transact'
import { AppError } from '@guildhall/service/errors'
import { sql } from 'kysely'
import type { Trx } from '../db.ts'
import type { Deps } from '../deps.ts'
import { gather } from './claim.ts'
import { ensurePerson, lockPeople, personBy } from './people.ts'

interface Accounts {
  chat_user_id: string
  email: string
}

/**
 * Makes one person of a chat user and the owner of an email, as auth has decided: memberships, points and
 * orders go to the older in one transaction. Again it changes nothing. Throws 409 `account.linked_elsewhere`
 * where the email is another chat user's here.
 */
export async function link({ db, now }: Pick<Deps, 'db' | 'now'>, accounts: Accounts) {
  const { chat_user_id, email } = accounts
  const actor = { source: 'job', actor_kind: 'member', actor_id: chat_user_id } as const
  await transact(db, async (trx) => {
    await lockPeople(trx)
    const owner = await ensurePerson(trx, { email }, now())
    if (owner.chat_user_id === chat_user_id) return
    if (owner.chat_user_id !== null) throw linkedElsewhere()
    const chat = (await personBy(trx, { chat_user_id })) ?? owner
    const [older, younger] = [chat, owner].sort(byAge) as [typeof owner, typeof owner]
    const both = { email, people: [older.id, younger.id], into: older.id }
    const memberships = await gather(trx, both, { actor, now: now() })
    if (younger !== older) await trx.deleteFrom('people').where('id', '=', younger.id).execute()
    await trx.updateTable('people').set(accounts).where('id', '=', older.id).execute()
    await noteEmail(trx, older.id, email)
    await enqueue(trx, audit(peopleLinked, actor, undefined, { memberships }))
  })
}

/** Their clubs know them by the email that they proved, unless one notes another, or this for somebody else. */
async function noteEmail(trx: Trx, person: string, email: string) {
  await sql`
    update memberships m set email = ${email} where person = ${person} and email is null
    and not exists (select from memberships o where o.org_id = m.org_id and o.email = ${email})
  `.execute(trx)
}

const byAge = (a: { id: string; created_at: Date }, b: { id: string; created_at: Date }) =>
  a.created_at.getTime() - b.created_at.getTime() || (a.id < b.id ? -1 : 1)

const linkedElsewhere = () =>
  new AppError(
    'conflict',
    'account.linked_elsewhere',
    'The email is linked to another chat account here; ask whoever runs the server',
  )
