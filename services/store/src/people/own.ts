import { ask } from '@guildhall/bus/calls'
import { findLinkedEmail } from '@guildhall/contracts/accounts'
import type { Caller } from '@guildhall/contracts/caller'
import { AppError } from '@guildhall/service/errors'
import type { Db, Trx } from '../db.ts'
import type { Deps } from '../deps.ts'
import { claim } from './claim.ts'
import { type Proved, personBy } from './people.ts'

type Own = Extract<Caller, { kind: 'member' | 'identity' | 'platform' | 'officer' }>

/** The email that a caller of the store site has proved; null for a platform token that is linked to none. */
export async function emailOf({ bus }: Pick<Deps, 'bus'>, caller: Own): Promise<string | null> {
  if (caller.kind === 'identity') return caller.email.toLowerCase()
  const { chat_user_id } = caller
  const { email } = await ask(bus, findLinkedEmail, { chat_user_id })
  return email?.toLowerCase() ?? null
}

/** Who calls, as the store knows people. What officers noted under a proved email is theirs from now on. */
export async function provedBy(
  deps: Pick<Deps, 'bus' | 'db' | 'now'>,
  caller: Own,
): Promise<Proved> {
  if (caller.kind === 'member') return inChat(deps, caller.chat_user_id)
  const email = await emailOf(deps, caller)
  if (email === null) throw notLinked()
  await claim(deps.db, email, deps.now())
  return { email }
}

/** A chat user whom auth has linked to an email has proved that too. */
async function inChat({ db, now }: Pick<Deps, 'db' | 'now'>, chat_user_id: string) {
  const person = await personBy(db, { chat_user_id })
  if (person?.email) await claim(db, person.email, now())
  return { chat_user_id }
}

/** Throws 403 unless the email is the caller's own. */
export async function checkOwnEmail(deps: Pick<Deps, 'bus'>, caller: Own, email: string) {
  if ((await emailOf(deps, caller)) !== email) throw otherEmail()
}

const select = (db: Db, orgId: number, proved: Proved) =>
  db
    .selectFrom('memberships as m')
    .innerJoin('people as p', 'p.id', 'm.person')
    .selectAll('m')
    .select('p.chat_user_id')
    .where('m.org_id', '=', orgId)
    .where((where) =>
      'email' in proved
        ? where('p.email', '=', proved.email)
        : where('p.chat_user_id', '=', proved.chat_user_id),
    )

/** Their membership of the org, if they have one. */
export const ownMembership = (db: Db, orgId: number, proved: Proved) =>
  select(db, orgId, proved).executeTakeFirst()

/** As `ownMembership`, and nobody else moves its points until the transaction ends. */
export async function lockOwn(trx: Trx, orgId: number, proved: Proved) {
  const locked = () => select(trx, orgId, proved).forNoKeyUpdate('m').executeTakeFirst()
  return (await locked()) ?? (await locked()) // it may have been joined with another while we waited
}

export const otherEmail = () =>
  new AppError(
    'forbidden',
    'identity.other_email',
    'This is not your email; sign in with the account that has it',
  )

const notLinked = () =>
  new AppError(
    'conflict',
    'account.not_linked',
    'No account of the store site is linked to your chat account; link them first (POST /api/accounts/link)',
  )
