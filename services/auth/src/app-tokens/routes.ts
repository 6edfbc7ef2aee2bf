import { audit, enqueue } from '@guildhall/bus/outbox'
import {
  APP_TOKEN_DAYS,
  appTokenCreated,
  appTokenRevoked,
  createAppToken,
  deleteAppToken,
  listAppTokens,
} from '@guildhall/contracts/app-tokens'
import type { App } from '@guildhall/service/app'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import type { AppTokenRow, Db } from '../db.ts'
import type { Deps } from '../deps.ts'
import { isRevokedToken, revokeAccess } from '../token-pairs/queries.ts'
import { insertAppToken, liveTokens, lockPerson, removeAppToken } from './queries.ts'

const DAY_MS = 86_400_000
/** Live app tokens of one person. */
export const MOST_APP_TOKENS = 20

export function appTokenRoutes(app: App, deps: Deps) {
  const { db, bus, signer, now } = deps

  app.implement(createAppToken, async ({ caller, query: { appname } }) => {
    const row = newRow(caller.chat_user_id, appname, now())
    const app_token = await signer.signApp(row, caller.username)
    await db.transaction().execute(async (trx) => {
      await checkSignedIn(trx, caller)
      await lockPerson(trx, row.chat_user_id)
      const { length } = await liveTokens(trx, row.chat_user_id, now())
      if (length >= MOST_APP_TOKENS) throw tooMany()
      await insertAppToken(trx, row)
      const said = { app_token_id: row.id, app_name: appname }
      await enqueue(trx, audit(appTokenCreated, caller, undefined, said))
    })
    return { app_token }
  })

  app.implement(listAppTokens, async ({ caller }) => {
    await checkSignedIn(db, caller)
    const rows = await liveTokens(db, caller.chat_user_id, now())
    return rows.map(({ id, app_name, created_at, expires_at }) => ({
      id,
      app_name,
      created_at: created_at.toISOString(),
      expires_at: expires_at.toISOString(),
    }))
  })

  app.implement(deleteAppToken, async ({ caller, params: { id } }) => {
    await db.transaction().execute(async (trx) => {
      await checkSignedIn(trx, caller)
      const gone = await removeAppToken(trx, caller.chat_user_id, id)
      if (!gone)
        throw new AppError('not_found', 'app_token.not_found', 'You have no such app token')
      if (gone.expires_at > now())
        await revokeAccess(trx, [{ jti: gone.id, expires_at: gone.expires_at }])
      const said = { app_token_id: gone.id, app_name: gone.app_name }
      await enqueue(trx, audit(appTokenRevoked, caller, undefined, said))
    })
    bus.outbox.emit('written') // every gateway is to know within a second
    return { deleted: true }
  })
}

/** The times are whole seconds, as in the token. */
function newRow(chat_user_id: string, app_name: string, now: Date): AppTokenRow {
  const created_at = new Date(Math.floor(now.getTime() / 1000) * 1000)
  const expires_at = new Date(created_at.getTime() + APP_TOKEN_DAYS * DAY_MS)
  return { id: newId(now.getTime()), chat_user_id, app_name, created_at, expires_at }
}

/** Throws for an app token, and for a token that a gateway does not yet know to be revoked. */
async function checkSignedIn(db: Db, caller: { token_id: string; type?: 'app' }) {
  if (await isRevokedToken(db, caller.token_id))
    throw new AppError('unauthenticated', 'token.invalid', 'The token was revoked; sign in again')
  if (caller.type === 'app')
    throw new AppError(
      'forbidden',
      'app_token.not_allowed',
      'An app token cannot make, list or revoke app tokens; sign in',
    )
}

const tooMany = () =>
  new AppError(
    'conflict',
    'app_token.too_many',
    `You have ${MOST_APP_TOKENS} app tokens, the most there may be; revoke one first`,
  )
