import type { TokenPair } from '@guildhall/contracts/auth'
import { ACCESS_TOKEN_SECONDS } from '@guildhall/contracts/auth'
import { newId } from '@guildhall/service/id'
import type { ChatUser } from '../clients/chat.ts'
import type { PairRow, Trx } from '../db.ts'
import type { Deps } from '../deps.ts'
import { randomValue, sha256 } from '../hash.ts'

/** Days that a refresh token counts (interface.md, Limits). */
const REFRESH_DAYS = 7
/** Days after which a person signs in anew, however often the tokens were refreshed (docs/security.md). */
export const SIGN_IN_DAYS = 90
const DAY_MS = 86_400_000

/** When the refreshing that began with a sign-in ends. */
export const endOfSignIn = (signed_in_at: Date) =>
  new Date(signed_in_at.getTime() + SIGN_IN_DAYS * DAY_MS)

/** Signs and keeps a new pair: of a new sign-in, or of the family of the pair that it follows. */
export async function issuePair(
  trx: Trx,
  { signer, now }: Pick<Deps, 'signer' | 'now'>,
  user: ChatUser,
  parent?: Pick<PairRow, 'id' | 'family_id' | 'signed_in_at'>,
): Promise<TokenPair> {
  const access = await signer.sign(user, now())
  const refresh_token = randomValue()
  const id = newId()
  const signed_in_at = parent?.signed_in_at ?? now()
  const end = Math.min(now().getTime() + REFRESH_DAYS * DAY_MS, endOfSignIn(signed_in_at).getTime())
  await trx
    .insertInto('token_pairs')
    .values({
      id,
      family_id: parent?.family_id ?? id,
      parent_id: parent?.id ?? null,
      refresh_sha256: sha256(refresh_token),
      access_jti: access.jti,
      access_expires_at: access.expires_at,
      chat_user_id: user.id,
      username: user.username,
      signed_in_at,
      expires_at: new Date(end),
      spent_at: null,
    })
    .execute()
  return {
    access_token: access.token,
    refresh_token,
    token_type: 'Bearer',
    expires_in: ACCESS_TOKEN_SECONDS,
  }
}
