import { AppError } from '@guildhall/service/errors'
import type { Db, Trx } from '../db.ts'

export interface Identity {
  /** The person's id at the identity provider. */
  subject: string
  email: string
}

/** The email linked to a chat user, or null. */
export async function linkedEmail(db: Db, chat_user_id: string): Promise<string | null> {
  const row = await db
    .selectFrom('account_links')
    .select('email')
    .where('chat_user_id', '=', chat_user_id)
    .executeTakeFirst()
  return row?.email ?? null
}

/**
 * Makes the two one person; false where they already were. Throws 409 `account.linked_elsewhere` where
 * either is somebody else already. Of two links at once that share a side, one wins.
 */
export async function link(trx: Trx, chat_user_id: string, { subject, email }: Identity) {
  const made = await trx
    .insertInto('account_links')
    .values({ chat_user_id, subject, email })
    .onConflict((on) => on.doNothing())
    .executeTakeFirst()
  if (made.numInsertedOrUpdatedRows === 1n) return true
  const same = await trx
    .updateTable('account_links')
    .set({ email })
    .where('chat_user_id', '=', chat_user_id)
    .where('subject', '=', subject)
    .executeTakeFirst()
  if (same.numUpdatedRows === 1n) return false
  throw new AppError(
    'conflict',
    'account.linked_elsewhere',
    'One of the two accounts is already linked to another; ask an officer which of them is meant',
  )
}
