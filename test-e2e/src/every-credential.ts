import assert from 'node:assert/strict'
import { APP_TOKEN_DAYS, createAppToken } from '@guildhall/contracts/app-tokens'
import { revoke } from '@guildhall/contracts/auth'
import { CLI_TOKEN_DAYS } from '@guildhall/contracts/cli-tokens'
import {
  createMachineToken,
  deleteMachineToken,
  type Scope,
  scopes,
} from '@guildhall/contracts/tokens'
import { accounts, people, servers } from '@guildhall/sandbox/demo'
import { until } from '@guildhall/service/testing'
import { bearer, cliToken, memberSession } from './people.ts'
import type { TestStack } from './stack.ts'
import type { Rule } from './verdicts.ts'

const DAY_MS = 86_400_000

export type Make = (rule: Rule) => Promise<Record<string, string>>

/** Made once for all routes; one that a route uses up is made anew for the next. */
function kept(make: () => ReturnType<Make>): Make {
  let made: ReturnType<Make> | undefined
  return ({ url }) => {
    const headers = made ?? make()
    made = /\/(revoke|logout|cli-token)$/.test(url) ? undefined : headers
    return headers
  }
}

interface Clock {
  ahead: number
}

/** Each kind of credential. */
export async function mint(stack: TestStack, clock: Clock): Promise<Record<string, Make>> {
  const of = (who: { id: string }) =>
    kept(async () => bearer((await stack.signIn(who)).access_token))
  return {
    none: always({}),
    'malformed token': always(bearer('abc.def.ghi')),
    ...(await ended(stack, clock)),
    'officer here': of(people.officer),
    'officer elsewhere': of(people.rivalOfficer),
    ...(await machines(stack, clock)),
    ...appTokens(stack),
    ...sessionsAndIdentities(stack),
    superadmin: of(people.superadmin), // the last, because it may delete what the path names
  }
}

const always = (headers: Record<string, string>) => async () => headers

/** Tokens of an officer that count no more. */
async function ended(stack: TestStack, clock: Clock) {
  const { url, signIn } = stack
  clock.ahead = -31 * 60_000
  const expired = (await signIn(people.officer)).access_token
  clock.ahead = 0
  const { access_token } = await signIn(people.officer)
  // made by an auth whose clock is far behind, so that its days are over
  clock.ahead = -(APP_TOKEN_DAYS + 1) * DAY_MS
  const expiredApp = await appTokenBy(stack, access_token)
  clock.ahead = 0
  await stack.as(access_token).call(revoke, { body: {} })
  const headers = bearer(access_token)
  await until(async () => (await fetch(`${url}/api/auth/name`, { headers })).status === 401)
  return {
    'expired platform token': always(bearer(expired)),
    'revoked platform token': always(headers),
    'expired app token': always(bearer(expiredApp)), // 401, because it has nothing to be refreshed with
  }
}

async function machines(stack: TestStack, clock: Clock) {
  const { url, signIn, machineToken } = stack
  const officer = (await signIn(people.officer)).access_token
  const rival = (await signIn(people.rivalOfficer)).access_token
  const every = Object.keys(scopes) as Scope[]
  const org_id = String(await stack.orgId(officer))
  const deleted = await machineToken(officer, ['org:read'])
  await stack.as(officer).call(deleteMachineToken, { params: { org_id, token_id: deleted.id } })
  clock.ahead = -2 * DAY_MS
  const days = { name: 'expired', kind: 'agent' as const, scopes: every, expires_days: 1 }
  const spent = await stack.as(officer).call(createMachineToken, { params: { org_id }, body: days })
  assert.ok(spent.status === 201, JSON.stringify(spent.body))
  clock.ahead = 0
  const tokens = {
    'machine token of every scope': (await machineToken(officer, every)).token,
    'machine token of every scope, another org': (await machineToken(rival, every, 'rival')).token,
    'machine token of another scope': (await machineToken(officer, ['org:read'])).token,
    'expired machine token': spent.body.token,
    'revoked machine token': deleted.token,
    'machine token of a CLI': (await machineToken(officer, ['compute:connect'], 'demo', 'cli'))
      .token,
    'CLI token of a member, another org': await cliToken(url, people.rivalOfficer, 'rival'),
    'CLI token of one who left': await tokenOfOneWhoLeft(stack, clock),
    ...(await endedCliTokens(stack, clock)),
  }
  return {
    ...Object.fromEntries(
      Object.entries(tokens).map(([name, token]) => [name, always(bearer(token))]),
    ),
    'CLI token of a member': kept(async () => bearer(await cliToken(url, people.member))),
  }
}

function appTokens(stack: TestStack): Record<string, Make> {
  const appToken = (who: { id: string }) =>
    kept(async () => bearer(await appTokenBy(stack, (await stack.signIn(who)).access_token)))
  return {
    'app token of an officer': appToken(people.officer),
    'app token of the superadmin': appToken(people.superadmin),
  }
}

async function appTokenBy(stack: TestStack, access_token: string) {
  const made = await stack.as(access_token).call(createAppToken, { query: { appname: 'test' } })
  assert.ok(made.status === 200)
  return made.body.app_token
}

function sessionsAndIdentities({ url, sandbox, settings }: TestStack): Record<string, Make> {
  const origin = new URL(String(settings.CLIENT_URL)).origin
  const session = (who: { id: string }) =>
    kept(async () => ({ cookie: (await memberSession(url, who)).session, origin }))
  const identity = ({ id }: { id: string }) =>
    kept(async () => bearer(await sandbox.identityToken(id)))
  return {
    'session of a member': session(people.member),
    'session of a non-member': session(people.stranger),
    'identity token': identity(accounts.member),
    'identity token of another email': identity(accounts.officer),
    'identity token, email unverified': identity(accounts.unverified),
  }
}

/** Two of one person: a sign-in puts its token in the place of the one before, and the days of that are over. */
async function endedCliTokens({ url }: TestStack, clock: Clock) {
  const replaced = await cliToken(url, people.officer)
  clock.ahead = -(CLI_TOKEN_DAYS + 1) * DAY_MS
  const expired = await cliToken(url, people.officer)
  clock.ahead = 0
  return { 'replaced CLI token': replaced, 'expired CLI token': expired }
}

/** The CLI token of a member who then left the chat server; what was read of them before is over. */
async function tokenOfOneWhoLeft({ url, sandbox }: TestStack, clock: Clock) {
  const leaver = { id: '184402700000000066', username: 'lea', name: 'Lea', about: 'leaves' }
  const demo = sandbox.world.guilds.find(({ id }) => id === servers.demo.id) ?? assert.fail()
  sandbox.world.users.push(leaver)
  demo.members.push({ userId: leaver.id, roleIds: [] })
  clock.ahead = -5 * 60_000
  const token = await cliToken(url, leaver)
  clock.ahead = 0
  demo.members.splice(
    demo.members.findIndex(({ userId }) => userId === leaver.id),
    1,
  )
  return token
}
