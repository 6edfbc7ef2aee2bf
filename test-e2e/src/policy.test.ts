import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { before, test } from 'node:test'
import { APP_TOKEN_DAYS, createAppToken } from '@guildhall/contracts/app-tokens'
import { revoke } from '@guildhall/contracts/auth'
import { routes } from '@guildhall/contracts/routes'
import { addOrg } from '@guildhall/contracts/superadmin'
import {
  createMachineToken,
  deleteMachineToken,
  type Scope,
  scopes,
} from '@guildhall/contracts/tokens'
import { accounts, people, servers } from '@guildhall/sandbox/demo'
import { until } from '@guildhall/service/testing'
import { bearer, cliToken, memberSession } from './people.ts'
import { type TestStack, testStack } from './stack.ts'

const DAY_MS = 86_400_000

/** One line of policy.tsv. */
interface Rule {
  method: string
  url: string
  /** The first word of the third column, and the scope after it. */
  caller: string
  scope: string
}

const rules = readFileSync(new URL('../policy.tsv', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line && !line.startsWith('#'))
  .map((line): Rule => {
    const [method = '', url = '', who = ''] = line.split('\t')
    const [caller = '', scope = ''] = who.split(' ')
    return { method, url, caller, scope }
  })
const nameOf = ({ method, url }: { method: string; url: string }) => `${method} ${url}`

/** What a refusal says, or that the route heard the request. */
type Verdict = 'in' | '401' | `403 ${string}`
const EXPIRED = '403 token.expired'

/** What each kind of credential gets on a route for each kind of caller; what is not named gets 401. */
const VERDICTS: Record<string, (credential: string, rule: Rule) => Verdict | undefined> = {
  anyone: () => 'in',
  platform: (credential) => person(credential),
  'signed-in': (credential) =>
    credential.startsWith('app token') ? '403 app_token.not_allowed' : person(credential),
  officer: (credential) =>
    ['officer elsewhere', 'app token of the superadmin'].includes(credential)
      ? '403 access.not_org_officer'
      : person(credential),
  superadmin: (credential) => {
    const verdict = person(credential)
    return verdict === 'in' && credential !== 'superadmin' ? '403 access.not_superadmin' : verdict
  },
  session: (credential) => {
    if (credential === 'expired platform token') return EXPIRED
    return credential.startsWith('session') ? 'in' : undefined
  },
  'own-session': (credential) => {
    if (credential === 'expired platform token') return EXPIRED
    if (credential === 'session of a non-member') return '403 access.not_member'
    return credential === 'session of a member' ? 'in' : undefined
  },
  member: (credential) => {
    if (['session of a member', 'CLI token of a member'].includes(credential)) return 'in'
    if (credential === 'session of a non-member') return '403 access.not_member'
    if (credential.endsWith('another org')) return '403 token.other_org'
    if (credential === 'machine token of another scope') return '403 token.scope_missing'
    return credential.startsWith('machine token') ? '403 token.no_member' : undefined
  },
  machine: (credential, { scope }) => {
    if (!/^(machine|CLI) token/.test(credential)) return undefined
    if (scope === '*' || credential.includes('every scope')) return 'in'
    return '403 token.scope_missing'
  },
}

function person(credential: string): Verdict | undefined {
  if (credential === 'expired platform token') return EXPIRED
  return /^(officer|superadmin|app token)/.test(credential) ? 'in' : undefined
}

/** In report mode an officer of another org is let through. */
function verdictOf(rule: Rule, credential: string, enforced: boolean): Verdict {
  const verdict = VERDICTS[rule.caller]?.(credential, rule) ?? '401'
  return verdict === '403 access.not_org_officer' && !enforced ? 'in' : verdict
}

test('every route has one line in policy.tsv, and every line a route', () => {
  assert.deepEqual(rules.map(nameOf).sort(), routes.map(({ route }) => nameOf(route)).sort())
  for (const rule of rules) assert.ok(rule.caller in VERDICTS, `${nameOf(rule)}: ${rule.caller}`)
})

for (const enforced of [true, false]) {
  const mode = enforced ? 'enforce' : 'report'
  let stack: TestStack
  let credentials: Record<string, Make>
  let paths: (url: string) => string
  before(async (t) => {
    const clock = { ahead: 0 }
    const settings = {
      ACCESS_ENFORCE: String(enforced),
      RATE_ADDRESS_PER_MINUTE: '0',
      RATE_FAILED_SIGN_INS_PER_MINUTE: '0',
    }
    stack = await testStack(t as never, settings, () => new Date(Date.now() + clock.ahead))
    stack.sandbox.world.chatLimit = { requests: 1_000_000, seconds: 1 }
    credentials = await mint(stack, clock)
    const { access_token } = await stack.signIn(people.officer)
    const [org, spare] = [await stack.orgId(access_token), await spareOrg(stack)]
    paths = (url) =>
      url
        .replace(':org_id', String(url.startsWith('/api/superadmin') ? spare : org))
        .replace(':guild_id', servers.demo.id)
        .replace(':org', 'demo')
        .replace(/[:*]\w+/g, '01890000-0000-7000-8000-000000000000')
  })

  for (const rule of rules) {
    test(`${mode}: ${nameOf(rule)} is for ${rule.caller} ${rule.scope}`, async () => {
      for (const [credential, make] of Object.entries(credentials)) {
        const got = await verdictBy(stack.url + paths(rule.url), rule.method, await make(rule))
        assert.equal(got, verdictOf(rule, credential, enforced), `${credential}: ${got}`)
      }
    })
  }
}

/** Calls with nothing but the credential: what comes after the door, such as 400, counts as in. */
async function verdictBy(url: string, method: string, headers: Record<string, string>) {
  const response = await fetch(url, { method, headers, redirect: 'manual' })
  const body = (await response.json().catch(() => ({}))) as { code?: string }
  const atTheDoor = /^(token|access|session|origin|identity|app_token)\./.test(body.code ?? '')
  if (response.status === 401 && atTheDoor) return '401'
  if (response.status === 403 && atTheDoor) return `403 ${body.code}`
  const notSetUp = response.status === 503 && /^(compute|podhost)\./.test(body.code ?? '')
  assert.ok(response.status < 500 || notSetUp, `${response.status} ${JSON.stringify(body)}`)
  assert.notEqual(body.code, 'route.not_found', 'the request reached no route')
  return 'in'
}

/** An org that the superadmin's routes may be tried on. */
async function spareOrg({ as, signIn, sandbox }: TestStack) {
  const chat_server_id = '284402700000000088'
  const [guild = assert.fail()] = sandbox.world.guilds
  sandbox.world.guilds.push({ ...guild, id: chat_server_id, roles: [] })
  const superadmin = as((await signIn(people.superadmin)).access_token)
  const body = { chat_server_id, name: 'Spare', prefix: 'spare' }
  const made = await superadmin.call(addOrg, { body })
  assert.ok(made.status === 201, JSON.stringify(made.body))
  return made.body.id
}

/** What was made once is used for every request. */
function once<T>(make: () => Promise<T>) {
  let made: Promise<T> | undefined
  return () => {
    made ??= make()
    return made
  }
}

type Make = (rule: Rule) => Promise<Record<string, string>>

/** Each kind of credential; those that a route may use up are made anew for each request. */
async function mint(stack: TestStack, clock: { ahead: number }): Promise<Record<string, Make>> {
  const { url, sandbox, signIn, machineToken } = stack
  const of = async (who: { id: string }) => bearer((await signIn(who)).access_token)
  const officer = (await signIn(people.officer)).access_token
  const rival = (await signIn(people.rivalOfficer)).access_token
  const machine = async (names: Scope[], prefix = 'demo') =>
    bearer((await machineToken(prefix === 'demo' ? officer : rival, names, prefix)).token)
  const every = Object.keys(scopes) as Scope[]

  clock.ahead = -31 * 60_000
  const expired = await of(people.officer)
  clock.ahead = 0
  const revoked = (await signIn(people.officer)).access_token
  await stack.as(revoked).call(revoke, { body: {} })
  await until(
    async () => (await fetch(`${url}/api/auth/name`, { headers: bearer(revoked) })).status === 401,
  )

  const origin = new URL(String(stack.settings.CLIENT_URL)).origin
  const session = async (who: { id: string }) => ({
    cookie: (await memberSession(url, who)).session,
    origin,
  })
  const [full, other, one] = await Promise.all([
    machine(every),
    machine(every, 'rival'),
    machine(['org:read']),
  ])
  const appTokenBy = async (access_token: string) => {
    const made = await stack.as(access_token).call(createAppToken, { query: { appname: 'test' } })
    assert.ok(made.status === 200)
    return bearer(made.body.app_token)
  }
  const appToken = async (who: { id: string }) => appTokenBy((await signIn(who)).access_token)
  const officersApp = once(() => appToken(people.officer))
  const superadminsApp = once(() => appToken(people.superadmin))
  const ends = ({ url: path }: Rule) => /\/(revoke|logout)$/.test(path)
  const deleted = await machineToken(officer, ['org:read'])
  const org_id = String(await stack.orgId(officer))
  await stack.as(officer).call(deleteMachineToken, { params: { org_id, token_id: deleted.id } })
  // made by an auth whose clock is far behind, so that their days are over
  clock.ahead = -2 * DAY_MS
  const days = { name: 'expired', kind: 'agent' as const, scopes: every, expires_days: 1 }
  const spent = await stack.as(officer).call(createMachineToken, { params: { org_id }, body: days })
  assert.ok(spent.status === 201, JSON.stringify(spent.body))
  clock.ahead = -(APP_TOKEN_DAYS + 1) * DAY_MS
  const expiredApp = await appTokenBy(officer)
  clock.ahead = 0
  const cli = (await machineToken(officer, ['compute:connect'], 'demo', 'cli')).token
  const always = (headers: Record<string, string>) => async () => headers
  return {
    none: always({}),
    'malformed token': always(bearer('abc.def.ghi')),
    'expired platform token': always(expired),
    'revoked platform token': always(bearer(revoked)),
    'officer here': () => of(people.officer),
    'officer elsewhere': () => of(people.rivalOfficer),
    'machine token of every scope': always(full),
    'machine token of every scope, another org': always(other),
    'machine token of another scope': always(one),
    'expired machine token': always(bearer(spent.body.token)),
    'revoked machine token': always(bearer(deleted.token)),
    'machine token of a CLI': always(bearer(cli)),
    'CLI token of a member': always(bearer(await cliToken(url, people.member))),
    'expired app token': always(expiredApp), // 401, because it has nothing to be refreshed with
    'app token of an officer': (rule) => (ends(rule) ? appToken(people.officer) : officersApp()),
    'app token of the superadmin': (rule) =>
      ends(rule) ? appToken(people.superadmin) : superadminsApp(),
    'session of a member': () => session(people.member),
    'session of a non-member': () => session(people.stranger),
    'identity token': async () => bearer(await sandbox.identityToken(accounts.member.id)),
    'identity token of another email': async () =>
      bearer(await sandbox.identityToken(accounts.officer.id)),
    'identity token, email unverified': async () =>
      bearer(await sandbox.identityToken(accounts.unverified.id)),
    superadmin: () => of(people.superadmin), // the last, because it may delete what the path names
  }
}
