import type { ChatUser } from '../clients/chat.ts'
import type { Db, Trx } from '../db.ts'
import { randomValue, sha256 } from '../hash.ts'

/** Seconds that a one-time code counts (interface.md, Limits). */
export const CODE_SECONDS = 60

/** Keeps a new one-time code for `user` and answers it; only its hash is stored. */
export async function insertCode(trx: Trx, { id, username }: ChatUser, now: Date): Promise<string> {
  const code = randomValue()
  const expires_at = new Date(now.getTime() + CODE_SECONDS * 1000)
  const row = { sha256: sha256(code), chat_user_id: id, username, expires_at, used_at: null }
  await trx.insertInto('sign_in_codes').values(row).execute()
  return code
}

/** Uses up a code: of many who send it at once, one gets the user and the others nothing. */
export async function useCode(trx: Trx, code: string, now: Date): Promise<ChatUser | undefined> {
  const used = await trx
    .updateTable('sign_in_codes')
    .set({ used_at: now })
    .where('sha256', '=', sha256(code))
    .where('used_at', 'is', null)
    .where('expires_at', '>', now)
    .returning(['chat_user_id', 'username'])
    .executeTakeFirst()
  return used && { id: used.chat_user_id, username: used.username }
}

/** Remembers on which servers somebody is who has just signed in. */
export async function rememberServers(trx: Trx, chat_user_id: string, server_ids: string[]) {
  await trx
    .insertInto('chat_servers')
    .values({ chat_user_id, server_ids })
    .onConflict((on) => on.column('chat_user_id').doUpdateSet({ server_ids }))
    .execute()
}

/** Orgs on these chat servers. */
export function orgsOnServers(db: Db, serverIds: string[]) {
  return db
    .selectFrom('orgs')
    .selectAll()
    .where('active', '=', true)
    .where('chat_server_id', 'in', serverIds.length > 0 ? serverIds : [''])
    .execute()
}
