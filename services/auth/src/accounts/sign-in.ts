import { toldChanged } from '@guildhall/bus/changed'
import { audit, enqueue } from '@guildhall/bus/outbox'
import {
  chatCallback,
  chatLogin,
  MEMBER_SIGN_IN_COOKIE,
  memberSignedIn,
} from '@guildhall/contracts/accounts'
import { SIGN_IN_REFUSED } from '@guildhall/contracts/auth'
import { changed } from '@guildhall/contracts/event'
import type { App } from '@guildhall/service/app'
import { isHttps } from '@guildhall/service/cookie-name'
import { AppError } from '@guildhall/service/errors'
import { z } from 'zod'
import { noteDenied } from '../access/note-denied.ts'
import { type ChatUser, refusalOf } from '../clients/chat.ts'
import type { Deps } from '../deps.ts'
import { authorizeUrl } from '../sign-in/authorize.ts'
import { signInCookie } from '../sign-in/state.ts'
import { checkMemberSignIn, nextAfterSignIn, returnedWith } from './rules.ts'
import { rememberSession, sentSession } from './session-cookie.ts'
import { deleteSession, insertSession, sessionOf } from './sessions.ts'

/** The sign-in of members through the chat platform; it ends in a cookie session. */
export function memberSignInRoutes(app: App, deps: Deps) {
  const { db, config, chat, now } = deps
  const secretKey = config.SECRET_KEY
  const cookie = signInCookie({
    name: MEMBER_SIGN_IN_COOKIE,
    shape: { next: z.string() },
    secure: isHttps(config.ACCOUNTS_BASE_URL),
    secretKey,
  })

  app.implement(chatLogin, async ({ query }, reply) => {
    const redirectUri = checkMemberSignIn(config, chatCallback.url)
    const { signIn, header } = await cookie.begin({ next: nextAfterSignIn(config, query) })
    const location = authorizeUrl(config, { ...signIn, redirectUri, scope: 'identify' })
    return reply
      .header('set-cookie', header)
      .header('location', location)
      .code(302)
      .send({ location })
  })

  app.implement(chatCallback, async ({ query, cookies }, reply) => {
    const redirectUri = checkMemberSignIn(config, chatCallback.url)
    const signIn = await cookie.read(cookies)
    const back = (location: string, ...more: string[]) =>
      reply
        .header('set-cookie', [cookie.forget, ...more])
        .header('location', location)
        .code(302)
        .send({ location })
    const refuse = (next: string, error: string) => {
      reply.header(SIGN_IN_REFUSED, 'true')
      return back(returnedWith(next, { error }))
    }
    if (!signIn || signIn.state !== query.state) {
      noteDenied(deps.log, 'oauth_state_mismatch', chatCallback)
      const error = 'This sign-in was not started here or took too long; start again'
      return refuse(nextAfterSignIn(config, {}), error)
    }
    if (!query.code) return back(returnedWith(signIn.next, { error: 'The sign-in was cancelled' }))
    const { verifier, next } = signIn
    const asked = { code: query.code, verifier, redirectUri, servers: false }
    const answer = await chat.signedIn(asked).catch(refusalOf)
    if (answer instanceof AppError) return refuse(next, answer.message)
    const session = await begin(answer.user, sentSession(config, cookies))
    return back(next, rememberSession(config, session))
  })

  /** Begins a session in place of the one that the browser had. */
  async function begin(user: ChatUser, sent: string): Promise<string> {
    const earlier = await sessionOf(db, sent, { secretKey, now: now() })
    const value = await db.transaction().execute(async (trx) => {
      if (earlier) {
        await deleteSession(trx, earlier.id)
        await enqueue(trx, toldChanged(changed.session, earlier.id))
      }
      const by = { source: 'http', actor_kind: 'member', actor_id: user.id } as const
      await enqueue(trx, audit(memberSignedIn, by, undefined, { username: user.username }))
      return insertSession(trx, user, { secretKey, now: now() })
    })
    if (earlier) deps.bus.outbox.emit('written')
    return value
  }
}
