import { ACCESS_TOKEN_SECONDS, type Jwks } from '@guildhall/contracts/auth'
import type { Sealer } from '@guildhall/outbound/sealed'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import type { Log } from '@guildhall/service/log'
import { exportJWK, exportPKCS8, generateKeyPair, importPKCS8, SignJWT } from 'jose'
import { sql } from 'kysely'
import type { z } from 'zod'
import type { ChatUser } from '../clients/chat.ts'
import type { AppTokenRow, Db } from '../db.ts'

const ALGORITHM = 'RS256'

type PublicKey = z.output<typeof Jwks>['keys'][number]

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
  /** The public halves of the keys whose tokens count (RFC 7517). */
  publicKeys(): Promise<z.output<typeof Jwks>>
}

/** What is known of a key that is kept. */
type KeptKey = { kid: string; sealed_private_key: string }

/**
 * Signs with the newest key of the table that SECRET_KEY opens. The first process to start makes the first key, and so does
 * one whose SECRET_KEY is another: then nothing signed before counts any more and everybody signs in again.
 */
export async function openSigner(db: Db, sealer: Sealer, log: Log): Promise<Signer> {
  const { kid, pem } = await newestKey(db, sealer, log)
  const key = await importPKCS8(pem, ALGORITHM)

  const signed = (claims: object, { jti, from, until }: { jti: string; from: Date; until: Date }) =>
    new SignJWT({ ...claims })
      .setProtectedHeader({ alg: ALGORITHM, kid, typ: 'JWT' })
      .setJti(jti)
      .setIssuedAt(from)
      .setExpirationTime(until)
      .sign(key)

  return {
    async sign({ id, username }, now) {
      const jti = newId(now.getTime())
      const seconds = Math.floor(now.getTime() / 1000) + ACCESS_TOKEN_SECONDS
      const expires_at = new Date(seconds * 1000)
      const claims = { username, chat_user_id: id }
      return { token: await signed(claims, { jti, from: now, until: expires_at }), jti, expires_at }
    },
    signApp({ id, chat_user_id, created_at, expires_at }, username) {
      const claims = { type: 'app', username, chat_user_id }
      return signed(claims, { jti: id, from: created_at, until: expires_at })
    },
    async publicKeys() {
      const rows = await db
        .selectFrom('signing_keys')
        .select(['kid', 'sealed_private_key', 'public_jwk'])
        .orderBy('created_at', 'desc')
        .execute()
      const counting = rows.filter((row) => openKey(sealer, row) !== undefined)
      return { keys: counting.map(({ public_jwk }) => public_jwk as PublicKey) }
    },
  }
}

/** The private key as PEM, or nothing where it was sealed under another SECRET_KEY. */
function openKey(sealer: Sealer, { kid, sealed_private_key }: KeptKey): string | undefined {
  try {
    return sealer.open(sealed_private_key, { org: null, field: `signing_key:${kid}` }).toString()
  } catch (error) {
    if (error instanceof AppError && error.code === 'sealed.unopenable') return undefined
    throw error
  }
}

/** The key that signs; it is made where there is none yet that opens. */
function newestKey(db: Db, sealer: Sealer, log: Log) {
  return db.transaction().execute(async (trx) => {
    await sql`lock table signing_keys in exclusive mode`.execute(trx) // of many that start at once one makes it
    const newest = trx
      .selectFrom('signing_keys')
      .select(['kid', 'sealed_private_key'])
      .orderBy('created_at', 'desc')
    const there = await newest.execute()
    for (const key of there) {
      const pem = openKey(sealer, key)
      if (pem !== undefined) return { kid: key.kid, pem }
    }
    if (there.length > 0)
      log.warn(
        'SECRET_KEY is another than before: a new key signs from now on, and everybody must sign in again unless the old SECRET_KEY is put back',
      )
    const { privateKey, publicKey } = await generateKeyPair(ALGORITHM, {
      modulusLength: 2048,
      extractable: true,
    })
    const kid = newId()
    const public_jwk = { ...(await exportJWK(publicKey)), kid, alg: ALGORITHM, use: 'sig' }
    const pem = await exportPKCS8(privateKey)
    const sealed_private_key = sealer.seal(pem, {
      org: null,
      field: `signing_key:${kid}`,
    })
    await trx
      .insertInto('signing_keys')
      .values({ kid, sealed_private_key, public_jwk: JSON.stringify(public_jwk) })
      .execute()
    return { kid, pem }
  })
}
