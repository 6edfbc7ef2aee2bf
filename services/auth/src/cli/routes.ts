import { toldChanged } from '@guildhall/bus/changed'
import { audit, enqueue } from '@guildhall/bus/outbox'
import { SIGN_IN_REFUSED } from '@guildhall/contracts/auth'
import {
  CLI_SIGN_IN_COOKIE,
  CLI_TOKEN_DAYS,
  cliCallback,
  cliLogin,
  cliTokenIssued,
} from '@guildhall/contracts/cli-tokens'
import { changed } from '@guildhall/contracts/event'
import type { Handler } from '@guildhall/contracts/route'
import { MACHINE_TOKEN_PREFIX } from '@guildhall/contracts/tokens'
import type { App } from '@guildhall/service/app'
import { isHttps } from '@guildhall/service/cookie-name'
import { AppError } from '@guildhall/service/errors'
import { z } from 'zod'
import { noteDenied } from '../access/note-denied.ts'
import { checkMemberSignIn } from '../accounts/rules.ts'
import { type ChatUser, refusalOf } from '../clients/chat.ts'
import type { OrgRow } from '../db.ts'
import type { Deps } from '../deps.ts'
import { randomValue, sha256 } from '../hash.ts'
import { DISPLAY_CHARS } from '../machine-tokens/queries.ts'
import { orgById } from '../orgs/queries.ts'
import { authorizeUrl } from '../sign-in/authorize.ts'
import { signInCookie } from '../sign-in/state.ts'
import { page } from './page.ts'
import { lockCliToken, storeCliToken } from './queries.ts'

const HTML = 'text/html; charset=utf-8'
/** Seconds after which to try again where what is away does not say it. */
const RETRY_SECONDS = 60

/** The sign-in of the compute CLI: it ends at a page that shows the member's token this once. */
export function cliSignInRoutes(app: App, deps: Deps) {
  const { config, chat, access, db } = deps
  const cli = config.COMPUTE_CLI_NAME
  const cookie = signInCookie({
    name: CLI_SIGN_IN_COOKIE,
    shape: { org_id: z.int() },
    secure: isHttps(config.ACCOUNTS_BASE_URL),
    secretKey: config.SECRET_KEY,
  })

  app.implement(cliLogin, async ({ org }, reply) => {
    const redirectUri = checkMemberSignIn(config, cliCallback.url)
    const { signIn, header } = await cookie.begin({ org_id: org.id })
    const location = authorizeUrl(config, { ...signIn, redirectUri, scope: 'identify' })
    return reply
      .header('set-cookie', header)
      .header('location', location)
      .code(302)
      .send({ location })
  })

  app.implement(cliCallback, (input, reply) =>
    endSignIn(input, reply).catch((error) => {
      if (!(error instanceof AppError) || error.kind !== 'unavailable') throw error
      deps.log.warn({ err: error }, 'A sign-in of the CLI could not end')
      const text = [`${error.message}. Then start again with ${cli}.`]
      return reply
        .header('content-type', HTML)
        .header('retry-after', String(error.retryAfter ?? RETRY_SECONDS))
        .code(503)
        .send(page({ title: 'Not signed in', text }))
    }),
  )

  const endSignIn: Handler<typeof cliCallback> = async ({ query, cookies }, reply) => {
    const redirectUri = checkMemberSignIn(config, cliCallback.url)
    const signIn = await cookie.read(cookies)
    reply.header('set-cookie', cookie.forget).header('content-type', HTML)
    const say = (status: 400 | 403 | 404, title: string, text: string) =>
      reply.code(status).send(page({ title, text: [text] }))
    const refuse = (status: 400 | 403 | 404, title: string, text: string) => {
      reply.header(SIGN_IN_REFUSED, 'true')
      return say(status, title, text)
    }
    if (!signIn || signIn.state !== query.state) {
      noteDenied(deps.log, 'oauth_state_mismatch', cliCallback)
      const text = `This sign-in was not started here or took too long. Start again with ${cli}.`
      return refuse(400, 'Not signed in', text)
    }
    if (!query.code)
      return say(400, 'Not signed in', `The sign-in was cancelled. Start again with ${cli}.`)
    const { verifier, org_id } = signIn
    const asked = { code: query.code, verifier, redirectUri, servers: false }
    const answer = await chat.signedIn(asked).catch(refusalOf)
    if (answer instanceof AppError)
      return refuse(400, 'Not signed in', `The chat platform refused it. Start again with ${cli}.`)
    const { user } = answer
    const org = await orgById(db, org_id)
    if (!org?.active || org.modules_off.includes('compute'))
      return refuse(404, 'Not available', 'This club does not offer compute.')
    if (!(await access.membership(user.id, org)).member) {
      noteDenied(deps.log, 'not_member', cliCallback, user.id, org)
      return refuse(403, 'Not a member', `Join the chat server of ${org.name} and sign in again.`)
    }
    const token = await issue(deps, org, user)
    return reply.code(200).send(tokenPage(cli, org.name, token))
  }
}

function tokenPage(cli: string, org: string, token: string) {
  const text = [
    `Paste this token into ${cli}. It is shown this once, is good for ${CLI_TOKEN_DAYS} days in ${org}, and takes the place of the one before.`,
    'Whoever has it can connect in your name: keep it to yourself, and sign in again to make it useless.',
  ]
  return page({ title: `Signed in to ${org}`, text, token })
}

/** Of two sign-ins of one member at once, the token of one counts. */
async function issue({ db, bus, now }: Deps, org: OrgRow, user: ChatUser): Promise<string> {
  const token = MACHINE_TOKEN_PREFIX + randomValue()
  const by = { source: 'http', actor_kind: 'member', actor_id: user.id } as const
  const display = token.slice(0, DISPLAY_CHARS)
  await db.transaction().execute(async (trx) => {
    const earlier = await lockCliToken(trx, org.id, user.id)
    const made = { sha256: sha256(token), display, now: now() }
    const token_id = await storeCliToken(trx, org.id, user, made)
    await enqueue(trx, audit(cliTokenIssued, by, org, { token_id, chat_user_id: user.id }))
    if (earlier) await enqueue(trx, toldChanged(changed.machineToken, earlier))
  })
  bus.outbox.emit('written') // the token before is to count no more at once
  return token
}
