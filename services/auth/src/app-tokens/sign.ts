import { createSealer } from '@guildhall/outbound/sealed'
import { importPKCS8, SignJWT } from 'jose'
import type { AppTokenRow } from '../db.ts'
import type { Deps } from '../deps.ts'
import { ALGORITHM, newestKey } from '../token-pairs/signer.ts'

/** The app token of a row: a JWT like an access token, of type `app` (interface.md, Tokens and credentials). */
export async function signAppToken(
  { db, config }: Pick<Deps, 'db' | 'config'>,
  { id, chat_user_id, created_at, expires_at }: AppTokenRow,
  username: string,
): Promise<string> {
  const sealer = createSealer(config.SECRET_KEY, 'auth.signing_keys')
  const { kid, sealed_private_key } = await newestKey(db, sealer)
  const pem = sealer.open(sealed_private_key, { org: null, field: `signing_key:${kid}` }).toString()
  return new SignJWT({ type: 'app', username, chat_user_id })
    .setProtectedHeader({ alg: ALGORITHM, kid, typ: 'JWT' })
    .setJti(id)
    .setIssuedAt(created_at)
    .setExpirationTime(expires_at)
    .sign(await importPKCS8(pem, ALGORITHM))
}
