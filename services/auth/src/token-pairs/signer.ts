import { ACCESS_TOKEN_SECONDS } from '@guildhall/contracts/auth'
import type { Sealer } from '@guildhall/outbound/sealed'
import { newId } from '@guildhall/service/id'
import { exportJWK, exportPKCS8, generateKeyPair, importPKCS8, SignJWT } from 'jose'
import { sql } from 'kysely'
import type { ChatUser } from '../clients/chat.ts'
import type { AppTokenRow, Db } from '../db.ts'

export const ALGORITHM = 'RS256'

export interface SignedAccess {
  token: string
  jti: string
  expires_at: Date
}

export interface Signer {
  /** An access token for `user`, valid for 30 minutes from `now`. */
  sign(user: ChatUser, now: Date): Promise<SignedAccess>
  /** The app token of a row: a JWT like an access token, of type `app` (interface.md, Tokens and credentials). */
  signApp(row: AppTokenRow, username: string): Promise<string>
}

/** Signs with the newest key of the table; the first process to start makes the first key. */
export async function openSigner(db: Db, sealer: Sealer): Promise<Signer> {
  const { kid, sealed_private_key } = await newestKey(db, sealer)
  const pem = sealer.open(sealed_private_key, { org: null, field: `signing_key:${kid}` }).toString()
  const key = await importPKCS8(pem, ALGORITHM)

  return {
    async sign({ id, username }, now) {
      const jti = newId(now.getTime())
      const issued = Math.floor(now.getTime() / 1000)
      const token = await new SignJWT({ username, chat_user_id: id })
        .setProtectedHeader({ alg: ALGORITHM, kid, typ: 'JWT' })
        .setJti(jti)
        .setIssuedAt(issued)
        .setExpirationTime(issued + ACCESS_TOKEN_SECONDS)
        .sign(key)
      return { token, jti, expires_at: new Date((issued + ACCESS_TOKEN_SECONDS) * 1000) }
    },
    signApp({ id, chat_user_id, created_at, expires_at }, username) {
      return new SignJWT({ type: 'app', username, chat_user_id })
        .setProtectedHeader({ alg: ALGORITHM, kid, typ: 'JWT' })
        .setJti(id)
        .setIssuedAt(created_at)
        .setExpirationTime(expires_at)
        .sign(key)
    },
  }
}

/** The key that signs, sealed; it is made where there is none yet. */
export function newestKey(db: Db, sealer: Sealer) {
  return db.transaction().execute(async (trx) => {
    await sql`lock table signing_keys in exclusive mode`.execute(trx) // of many that start at once one makes it
    const newest = trx
      .selectFrom('signing_keys')
      .select(['kid', 'sealed_private_key'])
      .orderBy('created_at', 'desc')
    const found = await newest.limit(1).executeTakeFirst()
    if (found) return found
    const { privateKey, publicKey } = await generateKeyPair(ALGORITHM, {
      modulusLength: 2048,
      extractable: true,
    })
    const kid = newId()
    const public_jwk = { ...(await exportJWK(publicKey)), kid, alg: ALGORITHM, use: 'sig' }
    const sealed_private_key = sealer.seal(await exportPKCS8(privateKey), {
      org: null,
      field: `signing_key:${kid}`,
    })
    await trx
      .insertInto('signing_keys')
      .values({ kid, sealed_private_key, public_jwk: JSON.stringify(public_jwk) })
      .execute()
    return { kid, sealed_private_key }
  })
}
