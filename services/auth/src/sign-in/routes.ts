import { audit, enqueue } from '@guildhall/bus/outbox'
import {
  exchange,
  login,
  loginCallback,
  SIGN_IN_COOKIE,
  SIGN_IN_REFUSED,
  signedIn,
} from '@guildhall/contracts/auth'
import type { App } from '@guildhall/service/app'
import { isHttps } from '@guildhall/service/cookie-name'
import { AppError } from '@guildhall/service/errors'
import { z } from 'zod'
import { noteDenied } from '../access/note-denied.ts'
import { type ChatUser, chatUnavailable, refusalOf } from '../clients/chat.ts'
import type { Config } from '../config.ts'
import type { Deps } from '../deps.ts'
import { issuePair } from '../token-pairs/issue.ts'
import { authorizeUrl } from './authorize.ts'
import { insertCode, orgsOnServers, rememberServers, useCode } from './queries.ts'
import { signInCookie } from './state.ts'

const Client = z.enum(['dashboard', 'client'])
type Client = z.output<typeof Client>

export function signInRoutes(app: App, deps: Deps) {
  const { db, config, chat, now } = deps
  const cookie = signInCookie({
    name: SIGN_IN_COOKIE,
    shape: { client: Client },
    secure: isHttps(config.REDIRECT_URI),
    secretKey: config.SECRET_KEY,
  })

  app.implement(login, async ({ query }, reply) => {
    const redirectUri = checkSetUp(config)
    const { signIn, header } = await cookie.begin({ client: query.client })
    const location = authorizeUrl(config, { ...signIn, redirectUri, scope: 'identify guilds' })
    return reply
      .header('set-cookie', header)
      .header('location', location)
      .code(302)
      .send({ location })
  })

  app.implement(loginCallback, async ({ query, cookies }, reply) => {
    const signIn = await cookie.read(cookies)
    const back = (params: Record<string, string>) => {
      const location = returnUrl(config, signIn?.client ?? 'client', params)
      reply.header('set-cookie', cookie.forget).header('location', location)
      return reply.code(302).send({ location })
    }
    const refuse = (error: string) => {
      reply.header(SIGN_IN_REFUSED, 'true')
      return back({ error })
    }
    if (!signIn || signIn.state !== query.state) {
      noteDenied(deps.log, 'oauth_state_mismatch', loginCallback)
      return refuse('This sign-in was not started here or took too long; start again')
    }
    if (!query.code) return back({ error: 'The sign-in was cancelled' })

    const { verifier } = signIn
    const asked = { code: query.code, verifier, redirectUri: checkSetUp(config), servers: true }
    const answer = await chat.signedIn(asked).catch(refusalOf)
    if (answer instanceof AppError) return refuse(answer.message)
    const { user, serverIds } = answer
    if (!(await isOfficerSomewhere(deps, user, serverIds))) {
      noteDenied(deps.log, 'not_officer', loginCallback, user.id)
      return refuse('Unauthorized access: you hold the officer role of no org here')
    }
    const code = await db.transaction().execute(async (trx) => {
      await rememberServers(trx, user.id, serverIds)
      return insertCode(trx, user, now())
    })
    return back({ code })
  })

  app.implement(exchange, async ({ body }) => {
    const pair = await db.transaction().execute(async (trx) => {
      const user = await useCode(trx, body.code, now())
      if (!user) return undefined
      const by = { source: 'http', actor_kind: 'officer', actor_id: user.id } as const
      await enqueue(trx, audit(signedIn, by, undefined, { username: user.username }))
      return issuePair(trx, deps, user)
    })
    if (!pair)
      throw new AppError(
        'invalid',
        'code.invalid',
        'The code is unknown, used or older than a minute; sign in again',
      )
    return pair
  })
}

async function isOfficerSomewhere({ db, access }: Deps, user: ChatUser, serverIds: string[]) {
  if (access.isSuperadmin(user.id)) return true
  const orgs = await orgsOnServers(db, serverIds)
  const decisions = await Promise.all(orgs.map((org) => access.decide(user.id, org)))
  if (decisions.some(({ allowed }) => allowed)) return true
  if (decisions.some(({ reason }) => reason === 'bot_unavailable')) {
    throw chatUnavailable()
  }
  return false
}

/** REDIRECT_URI, once everything that a sign-in needs is set. */
function checkSetUp({ BOT_TOKEN, CLIENT_ID, CLIENT_SECRET, REDIRECT_URI, CLIENT_URL }: Config) {
  const needed = { BOT_TOKEN, CLIENT_ID, CLIENT_SECRET, REDIRECT_URI, CLIENT_URL }
  const missing = Object.entries(needed).flatMap(([name, value]) => (value ? [] : [name]))
  if (missing.length === 0 && REDIRECT_URI) return REDIRECT_URI
  throw new AppError(
    'unavailable',
    'sign_in.not_set_up',
    `Sign-in is not set up: set ${missing.join(', ')}`,
  )
}

function returnUrl(
  { CLIENT_URL, DASHBOARD_URL }: Config,
  client: Client,
  params: Record<string, string>,
) {
  const base = (client === 'dashboard' ? DASHBOARD_URL : undefined) ?? CLIENT_URL
  if (!base)
    throw new AppError('unavailable', 'sign_in.not_set_up', 'Sign-in is not set up: set CLIENT_URL')
  return `${base.replace(/\/$/, '')}/auth/?${new URLSearchParams(params)}`
}
