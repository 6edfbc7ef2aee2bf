import { audit, enqueue } from '@guildhall/bus/outbox'
import { exchange, login, loginCallback, SIGN_IN_COOKIE, signedIn } from '@guildhall/contracts/auth'
import type { App } from '@guildhall/service/app'
import { AppError } from '@guildhall/service/errors'
import { type ChatUser, chatUnavailable } from '../clients/chat.ts'
import type { Config } from '../config.ts'
import type { Deps } from '../deps.ts'
import { issuePair } from '../token-pairs/issue.ts'
import { insertCode, orgsOnServers, useCode } from './queries.ts'
import {
  challengeOf,
  newSignIn,
  openSignIn,
  SIGN_IN_SECONDS,
  type SignIn,
  sealSignIn,
} from './state.ts'

const SCOPE = 'identify guilds'

export function signInRoutes(app: App, deps: Deps) {
  const { db, config, chat, now } = deps

  app.implement(login, async ({ query }, reply) => {
    checkSetUp(config)
    const signIn = newSignIn(query.client)
    const cookie = cookieOf(config, await sealSignIn(signIn, config.SECRET_KEY), SIGN_IN_SECONDS)
    const location = authorizeUrl(config, signIn)
    return reply
      .header('set-cookie', cookie)
      .header('location', location)
      .code(302)
      .send({ location })
  })

  app.implement(loginCallback, async ({ query, cookies }, reply) => {
    const signIn = await openSignIn(cookies[cookieName(config)], config.SECRET_KEY)
    const back = (params: Record<string, string>) => {
      const location = returnUrl(config, signIn?.client ?? 'client', params)
      reply.header('set-cookie', cookieOf(config, '', 0)).header('location', location)
      return reply.code(302).send({ location })
    }
    if (!signIn || signIn.state !== query.state) {
      deps.log.warn(
        { reason: 'oauth_state_mismatch' },
        'access decision=deny reason=oauth_state_mismatch route=GET /api/auth/callback org=- credential=none',
      )
      return back({ error: 'This sign-in was not started here or took too long; start again' })
    }
    if (!query.code) return back({ error: 'The sign-in was cancelled' })

    const { user, serverIds } = await chat.signedIn(query.code, signIn.verifier)
    if (!(await isOfficerSomewhere(deps, user, serverIds))) {
      deps.log.warn(
        { reason: 'not_officer' },
        `access decision=deny reason=not_officer route=GET /api/auth/callback org=- credential=chat:${user.id}`,
      )
      return back({ error: 'Unauthorized access: you hold the officer role of no org here' })
    }
    const code = await db.transaction().execute((trx) => insertCode(trx, user, now()))
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

function checkSetUp({ BOT_TOKEN, CLIENT_ID, CLIENT_SECRET, REDIRECT_URI, CLIENT_URL }: Config) {
  const needed = { BOT_TOKEN, CLIENT_ID, CLIENT_SECRET, REDIRECT_URI, CLIENT_URL }
  const missing = Object.entries(needed).flatMap(([name, value]) => (value ? [] : [name]))
  if (missing.length === 0) return
  throw new AppError(
    'unavailable',
    'sign_in.not_set_up',
    `Sign-in is not set up: set ${missing.join(', ')}`,
  )
}

function authorizeUrl(
  { CHAT_AUTHORIZE_URL, CLIENT_ID = '', REDIRECT_URI = '' }: Config,
  { state, verifier }: SignIn,
) {
  const url = new URL(CHAT_AUTHORIZE_URL)
  url.search = String(
    new URLSearchParams({
      client_id: CLIENT_ID,
      redirect_uri: REDIRECT_URI,
      response_type: 'code',
      scope: SCOPE,
      state,
      code_challenge: challengeOf(verifier),
      code_challenge_method: 'S256',
    }),
  )
  return url.href
}

function returnUrl(
  { CLIENT_URL, DASHBOARD_URL }: Config,
  client: SignIn['client'],
  params: Record<string, string>,
) {
  const base = (client === 'dashboard' ? DASHBOARD_URL : undefined) ?? CLIENT_URL
  if (!base)
    throw new AppError('unavailable', 'sign_in.not_set_up', 'Sign-in is not set up: set CLIENT_URL')
  return `${base.replace(/\/$/, '')}/auth/?${new URLSearchParams(params)}`
}

const isSecure = ({ REDIRECT_URI }: Config) => REDIRECT_URI?.startsWith('https:') ?? false
const cookieName = (config: Config) =>
  isSecure(config) ? `__Host-${SIGN_IN_COOKIE}` : SIGN_IN_COOKIE

/** Lax, because the browser comes back from another site. */
function cookieOf(config: Config, value: string, seconds: number) {
  const secure = isSecure(config) ? '; Secure' : ''
  return `${cookieName(config)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`
}
