import { toldChanged } from '@guildhall/bus/changed'
import { queueJob } from '@guildhall/bus/jobs'
import { audit, enqueue } from '@guildhall/bus/outbox'
import {
  accountLinked,
  endSession,
  getMe,
  linkAccount,
  memberSignedOut,
  tellLink,
} from '@guildhall/contracts/accounts'
import { changed } from '@guildhall/contracts/event'
import type { App } from '@guildhall/service/app'
import { AppError } from '@guildhall/service/errors'
import type { Deps } from '../deps.ts'
import { link, linkedEmail } from './links.ts'
import { forgetSession } from './session-cookie.ts'
import { deleteSession, sessionById } from './sessions.ts'

export function accountRoutes(app: App, deps: Deps) {
  const { db, bus, config, identities } = deps

  app.implement(getMe, async ({ caller }) => account(caller.session_id))

  app.implement(endSession, async ({ caller }, reply) => {
    await db.transaction().execute(async (trx) => {
      const ended = await deleteSession(trx, caller.session_id)
      if (!ended) return
      const said = { username: ended.username }
      const told = toldChanged(changed.session, ended.id)
      await enqueue(trx, audit(memberSignedOut, caller, undefined, said), told)
    })
    bus.outbox.emit('written')
    return reply
      .header('set-cookie', forgetSession(config))
      .code(200)
      .send({ message: 'Signed out' })
  })

  app.implement(linkAccount, async ({ caller, body }) => {
    const identity = await identities.verify(body.identity_token)
    await db.transaction().execute(async (trx) => {
      const { chat_user_id } = caller
      const made = await link(trx, chat_user_id, identity)
      await queueJob(trx, tellLink, { chat_user_id })
      if (!made) return
      await enqueue(trx, audit(accountLinked, caller, undefined, { subject: identity.subject }))
    })
    return account(caller.session_id)
  })

  async function account(sessionId: string) {
    const row = await sessionById(db, sessionId)
    if (!row) throw sessionEnded()
    const { chat_user_id, username, expires_at } = row
    const email = await linkedEmail(db, chat_user_id)
    return { chat_user_id, username, email, expires_at: expires_at.toISOString() }
  }
}

/** It was signed out while the gateway still knew it. */
const sessionEnded = () =>
  new AppError('unauthenticated', 'session.invalid', 'The session has ended; sign in again')
