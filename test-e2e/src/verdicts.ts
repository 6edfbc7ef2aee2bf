import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'

/** One line of policy.tsv. */
export interface Rule {
  method: string
  url: string
  /** The first word of the third column, and the scope after it. */
  caller: string
  scope: string
}

/** What stands in policy.tsv. */
export const rules = readFileSync(new URL('../policy.tsv', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line && !line.startsWith('#'))
  .map((line): Rule => {
    const [method = '', url = '', who = ''] = line.split('\t')
    const [caller = '', scope = ''] = who.split(' ')
    return { method, url, caller, scope }
  })
export const nameOf = ({ method, url }: { method: string; url: string }) => `${method} ${url}`

/** What a refusal says, or that the route heard the request. */
type Verdict = 'in' | '401' | `403 ${string}`
const EXPIRED = '403 token.expired'
/** Whose platform tokens count, though not for the org in the URL. */
const NO_OFFICERS = ['officer elsewhere', 'app token of the superadmin']

/** What each kind of credential gets on a route for each kind of caller; what is not named gets 401. */
export const VERDICTS: Record<string, (credential: string, rule: Rule) => Verdict | undefined> = {
  anyone: () => 'in',
  platform: (credential) => person(credential),
  'signed-in': (credential) =>
    credential.startsWith('app token') ? '403 app_token.not_allowed' : person(credential),
  officer: (credential) =>
    NO_OFFICERS.includes(credential) ? '403 access.not_org_officer' : person(credential),
  superadmin: (credential) => {
    const verdict = person(credential)
    return verdict === 'in' && credential !== 'superadmin' ? '403 access.not_superadmin' : verdict
  },
  session: (credential) => {
    if (credential === 'expired platform token') return EXPIRED
    return credential.startsWith('session') ? 'in' : undefined
  },
  member: (credential) => {
    if (['session of a member', 'CLI token of a member'].includes(credential)) return 'in'
    if (['session of a non-member', 'CLI token of one who left'].includes(credential))
      return '403 access.not_member'
    if (credential.endsWith('another org')) return '403 token.other_org'
    if (credential === 'machine token of another scope') return '403 token.scope_missing'
    return credential.startsWith('machine token') ? '403 token.no_member' : undefined
  },
  'member-session': (credential) => {
    if (credential === 'expired platform token') return EXPIRED
    if (credential === 'session of a non-member') return '403 access.not_member'
    return credential === 'session of a member' ? 'in' : undefined
  },
  identity: (credential) => (credential === 'expired platform token' ? EXPIRED : site(credential)),
  'site-member': (credential, { url }) => {
    const verdict = site(credential) ?? person(credential)
    const own = !url.includes('/:email') || credential === 'identity token'
    return verdict === 'in' && !own ? '403 identity.other_email' : verdict
  },
  'site-member-or-officer': (credential) =>
    site(credential) ??
    (NO_OFFICERS.includes(credential) ? '403 access.not_org_officer' : person(credential)),
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

/** An account of the members' site. */
function site(credential: string): Verdict | undefined {
  if (credential === 'identity token, email unverified') return '403 identity.email_unverified'
  return credential.startsWith('identity token') ? 'in' : undefined
}

/** What `credential` gets by `rule`. In report mode an officer of another org is let through. */
export function verdictOf(rule: Rule, credential: string, enforced: boolean): Verdict {
  const verdict = VERDICTS[rule.caller]?.(credential, rule) ?? '401'
  return verdict === '403 access.not_org_officer' && !enforced ? 'in' : verdict
}

/** Calls with nothing but the credential: what comes after the door, such as 400, counts as in. */
export async function verdictBy(
  url: string,
  method: string,
  headers: Record<string, string>,
  tries = 5,
): Promise<Verdict> {
  const response = await fetch(url, { method, headers, redirect: 'manual' })
  const body = (await response.json().catch(() => ({}))) as { code?: string }
  // a busy machine may keep a service from an answer in time, which says that one may try again
  if (tries > 1 && response.status === 503 && /\.unreachable$/.test(body.code ?? ''))
    return verdictBy(url, method, headers, tries - 1)
  const atTheDoor = /^(token|access|session|origin|identity|app_token)\./.test(body.code ?? '')
  if (response.status === 401 && atTheDoor) return '401'
  if (response.status === 403 && atTheDoor) return `403 ${body.code}`
  const notSetUp = response.status === 503 && /^(compute|podhost)\./.test(body.code ?? '')
  assert.ok(response.status < 500 || notSetUp, `${response.status} ${JSON.stringify(body)}`)
  assert.notEqual(body.code, 'route.not_found', 'the request reached no route')
  return 'in'
}
