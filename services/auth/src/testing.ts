import type { TestContext } from 'node:test'
import { quietLog, testSettings } from '@guildhall/bus/testing'
import type { Caller } from '@guildhall/contracts/caller'
import type { OrgRef } from '@guildhall/contracts/route'
import { openDb } from '@guildhall/db/open'
import { roleUrl } from '@guildhall/db/provision'
import { demoWorld, people, servers } from '@guildhall/sandbox/demo'
import { startSandbox } from '@guildhall/sandbox/sandbox'
import type { Identity } from '@guildhall/service/caller-token'
import { cleanUp, clientAs } from '@guildhall/service/testing'
import { readConfig } from './config.ts'
import { migrations, type Tables } from './db.ts'
import { start } from './main.ts'

const BASE_URL = 'http://127.0.0.1:1'
const REDIRECT_URI = `${BASE_URL}/api/auth/callback`
const CLI_REDIRECT_URI = `${BASE_URL}/api/compute/cli/callback`
const MEMBER_REDIRECT_URI = `${BASE_URL}/api/accounts/chat/callback`

/** auth on its own database, broker and chat platform, with the demo org and a clock that tests may turn. */
export async function testAuth(t: Pick<TestContext, 'after'>, more: Record<string, string> = {}) {
  const clock = { ahead: 0 }
  const world = demoWorld()
  const sandbox = await startSandbox({
    world,
    redirectUris: [REDIRECT_URI, MEMBER_REDIRECT_URI, CLI_REDIRECT_URI],
    gatewayUrl: '',
    log: quietLog,
  })
  cleanUp(t, () => sandbox.stop())
  const shared = await testSettings(t, { auth: migrations })
  const { clientId, clientSecret, botToken } = world.application
  const settings = {
    ...shared,
    SECRET_KEY: '22'.repeat(32),
    SECRETS_KEY: '33'.repeat(32),
    BOT_TOKEN: botToken,
    CLIENT_ID: clientId,
    CLIENT_SECRET: clientSecret,
    REDIRECT_URI,
    CLIENT_URL: 'http://client.test',
    DASHBOARD_URL: 'http://dashboard.test/app/',
    SYS_ADMIN: people.superadmin.id,
    ACCOUNTS_BASE_URL: BASE_URL,
    IDP_API_URL: sandbox.identityUrl,
    IDP_SECRET_KEY: world.identity.secretKey,
    IDP_AUTHORIZED_PARTIES: world.identity.authorizedParty,
    PODHOST_API_URL: sandbox.podhostUrl,
    CODEHOST_API_URL: sandbox.codeHostUrl,
    NOTES_API_URL: sandbox.notesUrl,
    CHAT_API_URL: sandbox.chatApiUrl,
    CHAT_AUTHORIZE_URL: sandbox.chatAuthorizeUrl,
    ...more,
  }
  const auth = await start(readConfig(settings), () => new Date(Date.now() + clock.ahead))
  let running = true
  const stop = async () => {
    if (running) await auth[Symbol.asyncDispose]()
    running = false
  }
  cleanUp(t, stop)
  const url = roleUrl(settings.DATABASE_URL, 'auth', settings.INTERNAL_KEY)
  const db = openDb<Tables>({ url, schema: 'auth', log: quietLog })
  cleanUp(t, () => db.destroy())
  const made = {
    prefix: 'demo',
    name: 'Demo Club',
    chat_server_id: servers.demo.id,
    officer_role_id: servers.demo.officerRoleId,
  }
  const { id } = await db.insertInto('orgs').values(made).returning('id').executeTakeFirstOrThrow()
  const org: OrgRef = {
    id,
    prefix: 'demo',
    name: 'Demo Club',
    modules: ['knowledge'],
    publisher: false,
  }
  const as = (identity: Partial<Identity>) => clientAs(auth.url, settings.INTERNAL_KEY, identity)
  return { url: auth.url, as, db, clock, world, settings, org, sandbox, stop }
}

export type TestAuth = Awaited<ReturnType<typeof testAuth>>

/** The caller that the gateway makes of a person's access token. */
export function callerOf(
  person: { id: string; username: string },
  token_id = 'jti',
  expires_at = 4_000_000_000,
) {
  return { chat_user_id: person.id, username: person.username, token_id, expires_at }
}

export const officer = (): Extract<Caller, { kind: 'officer' }> => ({
  kind: 'officer',
  superadmin: false,
  ...callerOf(people.officer),
})
export const signedIn = (person = people.officer): Extract<Caller, { kind: 'platform' }> => ({
  kind: 'platform',
  ...callerOf(person),
})
