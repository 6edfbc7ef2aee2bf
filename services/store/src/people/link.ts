import { audit, enqueue } from '@guildhall/bus/outbox'
import { peopleLinked } from '@guildhall/contracts/store-members'
import { AppError } from '@guildhall/service/errors'
import type { Trx } from '../db.ts'
import type { Deps } from '../deps.ts'
import { bring } from './bring.ts'
import { claimIn } from './claim.ts'
import { personBy } from './people.ts'

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
  await db.transaction().execute(async (trx) => {
    const owner = await claimIn(trx, email, now())
    if (owner.chat_user_id === chat_user_id) return
    if (owner.chat_user_id !== null) throw linkedElsewhere()
    const memberships = await join(trx, owner, accounts)
    const by = { source: 'job', actor_kind: 'member', actor_id: chat_user_id } as const
    await enqueue(trx, audit(peopleLinked, by, undefined, { memberships }))
  })
}

/** How many memberships of the two were in the same org. */
async function join(trx: Trx, owner: { id: string; created_at: Date }, accounts: Accounts) {
  const chat = await personBy(trx, { chat_user_id: accounts.chat_user_id })
  if (!chat) {
    await trx.updateTable('people').set(accounts).where('id', '=', owner.id).execute()
    return 0
  }
  const [older, younger] = [chat, owner].sort(byAge) as [typeof owner, typeof owner]
  const moving = await trx
    .selectFrom('memberships')
    .selectAll()
    .where('person', '=', younger.id)
    .orderBy('id')
    .execute()
  let joined = 0
  for (const membership of moving) if (await bring(trx, membership, older.id)) joined += 1
  await trx.deleteFrom('people').where('id', '=', younger.id).execute()
  await trx.updateTable('people').set(accounts).where('id', '=', older.id).execute()
  return joined
}

const byAge = (a: { id: string; created_at: Date }, b: { id: string; created_at: Date }) =>
  a.created_at.getTime() - b.created_at.getTime() || (a.id < b.id ? -1 : 1)

const linkedElsewhere = () =>
  new AppError(
    'conflict',
    'account.linked_elsewhere',
    'The email is linked to another chat account here; ask whoever runs the server',
  )
