import { ask } from '@guildhall/bus/calls'
import { findLinkedEmail } from '@guildhall/contracts/accounts'
import type { Caller } from '@guildhall/contracts/caller'
import { AppError } from '@guildhall/service/errors'
import type { Db, Trx } from '../db.ts'
import type { Deps } from '../deps.ts'
import { lockMember, selectMembers } from '../members/queries.ts'
import { claim } from './claim.ts'
import { type Proved, personBy } from './people.ts'

type Own = Extract<Caller, { kind: 'member' | 'identity' | 'platform' | 'officer' }>

/** The email that a caller of the store site has proved; null for a platform token that is linked to none. */
async function emailOf({ bus }: Pick<Deps, 'bus'>, caller: Own): Promise<string | null> {
  if (caller.kind === 'identity') return caller.email.toLowerCase()
  const { chat_user_id } = caller
  const { email } = await ask(bus, findLinkedEmail, { chat_user_id })
  return email?.toLowerCase() ?? null
}

/**
 * Who calls, as the store knows people. What officers noted under a proved email is theirs from now on.
 * Throws 403 where the request names an email and it is not the caller's own.
 */
export async function provedBy(
  deps: Pick<Deps, 'bus' | 'db' | 'now'>,
  caller: Own,
  named?: string,
): Promise<Proved> {
  if (caller.kind === 'member') return inChat(deps, caller)
  const email = await emailOf(deps, caller)
  if (named !== undefined && email !== named) throw otherEmail()
  if (email === null) throw notLinked()
  await claim(deps.db, email, { actor: caller, now: deps.now() })
  return { email }
}

/** A chat user whom auth has linked to an email has proved that too. */
async function inChat(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  caller: Extract<Caller, { kind: 'member' }>,
) {
  const { chat_user_id } = caller
  const person = await personBy(db, { chat_user_id })
  if (person?.email) await claim(db, person.email, { actor: caller, now: now() })
  return { chat_user_id }
}

const selectOwn = (db: Db, orgId: number, proved: Proved) =>
  selectMembers(db, orgId).where((where) =>
    'email' in proved
      ? where('p.email', '=', proved.email)
      : where('p.chat_user_id', '=', proved.chat_user_id),
  )

/** Their membership of the org, if they have one. */
export const ownMembership = (db: Db, orgId: number, proved: Proved) =>
  selectOwn(db, orgId, proved).executeTakeFirst()

/** As `ownMembership`, and nobody else moves its points until the transaction ends. */
export const lockOwn = (trx: Trx, orgId: number, proved: Proved) =>
  lockMember(() => selectOwn(trx, orgId, proved))

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
