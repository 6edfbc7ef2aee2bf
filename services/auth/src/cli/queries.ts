import { CLI_TOKEN_DAYS } from '@guildhall/contracts/cli-tokens'
import { newId } from '@guildhall/service/id'
import type { ChatUser } from '../clients/chat.ts'
import type { Trx } from '../db.ts'

const DAY_MS = 86_400_000

/** The token of a member's CLI in an org, if they have one, under its lock. */
export async function lockCliToken(trx: Trx, org_id: number, chat_user_id: string) {
  const row = await trx
    .selectFrom('machine_tokens')
    .select('id')
    .where('org_id', '=', org_id)
    .where('chat_user_id', '=', chat_user_id)
    .forUpdate()
    .executeTakeFirst()
  return row?.id
}

/** Deletes the token of a member's CLI in an org, and answers its id if there was one. */
export async function deleteCliToken(trx: Trx, org_id: number, chat_user_id: string) {
  const row = await trx
    .deleteFrom('machine_tokens')
    .where('org_id', '=', org_id)
    .where('chat_user_id', '=', chat_user_id)
    .returning('id')
    .executeTakeFirst()
  return row?.id
}

/** Stores the token of a member's CLI in the place of the one before, which counts no more. Answers its id. */
export async function storeCliToken(
  trx: Trx,
  org_id: number,
  { id: chat_user_id, username }: ChatUser,
  { sha256, display, now }: { sha256: string; display: string; now: Date },
): Promise<string> {
  const fresh = {
    id: newId(now.getTime()),
    name: `CLI of ${username}`,
    sha256,
    display,
    username,
    created_at: now,
    expires_at: new Date(now.getTime() + CLI_TOKEN_DAYS * DAY_MS),
    last_used_at: null,
  }
  const fixed = { kind: 'cli' as const, scopes: ['compute:connect'], limits: '{}' }
  await trx
    .insertInto('machine_tokens')
    .values({ ...fresh, ...fixed, org_id, chat_user_id, created_by: chat_user_id })
    .onConflict((on) =>
      on
        .columns(['org_id', 'chat_user_id'])
        .where('chat_user_id', 'is not', null)
        .doUpdateSet(fresh),
    )
    .execute()
  return fresh.id
}
