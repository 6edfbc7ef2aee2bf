import { hash } from 'node:crypto'
import type { AccessClaims } from '@guildhall/contracts/auth'
import { type Caller, fits } from '@guildhall/contracts/caller'
import type { OrgRef, Route } from '@guildhall/contracts/route'
import { MACHINE_TOKEN_PREFIX } from '@guildhall/contracts/tokens'
import { AppError, notFound } from '@guildhall/service/errors'
import { decodeJwt } from 'jose'
import type { AccessChecks } from './access-checks.ts'
import type { Directory, MachineTokenFound } from './directory.ts'
import type { Who } from './limits.ts'
import { type PlatformTokens, unauthenticated } from './platform-tokens.ts'

/** As the contract of the call that verifies it has it. */
const MOST_TOKEN_CHARS = 8_000

export interface Admitted {
  caller: Caller
  org: OrgRef | undefined
}

export interface Asked {
  route: Route
  /** The org of the URL, by its prefix or id. */
  org: string | number | undefined
  authorization: string | undefined
  /** The session of the cookie; nothing beside an Authorization header. */
  session?: string | undefined
  /** A write whose Origin is none of those allowed: no cookie counts for it (decisions.md § 0). */
  foreignOrigin?: boolean
  /** Told whom the credential stands for, before it is asked what they may do. */
  verified(who: Who): Promise<void>
}

interface Deps {
  directory: Directory
  platformTokens: PlatformTokens
  accessChecks: AccessChecks
}

type Way = (deps: Deps, asked: Asked, org: OrgRef | undefined) => Promise<Admitted>

/** Makes the function that tells who calls, by what the route requires. It throws what the caller may know. */
export function createAdmit(deps: Deps) {
  /** A route of a module that the org has off looks like no route at all. */
  return async (asked: Asked): Promise<Admitted> => {
    const { route, org: named } = asked
    const org = named === undefined ? undefined : await deps.directory.findOrg(named)
    if (named !== undefined && !isOn(route, org)) throw notFound()
    return wayFor(asked)(deps, asked, org)
  }
}

/** By which credential a request is judged: the first that its route takes and that it can have. */
function wayFor({ route, authorization }: Asked): Way {
  const takes = (...kinds: Caller['kind'][]) =>
    kinds.some((kind) => route.caller.accepts.includes(kind))
  if (takes('public')) return asAnyone
  if (takes('session', 'member') && authorization === undefined) return asSession
  if (takes('cli')) return asCli
  if (takes('machine')) return asMachine
  if (takes('identity') && !isPlatformToken(bearerOf(authorization))) return asIdentity
  return asPlatform
}

async function asPlatform(
  { platformTokens, accessChecks }: Deps,
  { route, authorization, verified }: Asked,
  org: OrgRef | undefined,
): Promise<Admitted> {
  const token = bearerOf(authorization)
  if (!token || token.startsWith(MACHINE_TOKEN_PREFIX)) {
    accessChecks.noteNoCredential(route, org)
    throw unauthenticated()
  }
  const claims = await platformTokens.verify(token)
  const person = personOf(claims)
  await verified({ kind: 'person', id: person.chat_user_id })
  const { accepts, app_token } = route.caller
  if (claims.type === 'app' && app_token === false) throw appRefused()
  if (accepts.includes('officer') && org) {
    const superadmin = await accessChecks.checkOfficer(route, person, org)
    return { caller: { kind: 'officer', superadmin, ...person }, org }
  }
  if (accepts.includes('superadmin')) {
    await accessChecks.checkSuperadmin(route, person)
    return { caller: { kind: 'superadmin', ...person }, org }
  }
  if (accepts.includes('platform')) return { caller: { kind: 'platform', ...person }, org }
  throw unauthenticated()
}

async function asMachine(
  { directory }: Deps,
  { route, authorization, verified }: Asked,
  named: OrgRef | undefined,
): Promise<Admitted> {
  const { caller, org, member } = await findMachine(directory, bearerOf(authorization))
  await verified(machineWho(caller.token_id, member))
  if (named && named.id !== org.id) throw otherOrg()
  if (!isOn(route, org)) throw notFound()
  if (!fits(caller, route.caller)) throw scopeMissing(route)
  return { caller, org }
}

/** By the CLI token of a member, who must still be on the chat server of the org. */
async function asCli(
  { directory, accessChecks }: Deps,
  { route, authorization, verified }: Asked,
  named: OrgRef | undefined,
): Promise<Admitted> {
  const { caller, org, member } = await findMachine(directory, bearerOf(authorization))
  await verified(machineWho(caller.token_id, member))
  if (named && named.id !== org.id) throw otherOrg()
  if (!isOn(route, org)) throw notFound()
  if (!route.caller.scope || !caller.scopes.includes(route.caller.scope)) throw scopeMissing(route)
  if (!member) throw notOfCli()
  await accessChecks.checkMember(member, org)
  return { caller: { kind: 'cli', ...member, token_id: caller.token_id }, org }
}

async function asSession(
  { directory, accessChecks }: Deps,
  { route, session, foreignOrigin, verified }: Asked,
  org: OrgRef | undefined,
): Promise<Admitted> {
  const found = session === undefined ? undefined : await directory.findSession(session)
  if (!found) throw noSession()
  const { id: session_id, chat_user_id, username } = found
  await verified({ kind: 'person', id: chat_user_id })
  if (foreignOrigin) throw originRefused()
  const person = { chat_user_id, username, session_id }
  if (route.caller.accepts.includes('session') || !org)
    return { caller: { kind: 'session', ...person }, org }
  await accessChecks.checkMember(person, org)
  return { caller: { kind: 'member', ...person }, org }
}

async function asIdentity(
  { directory }: Deps,
  { authorization, verified }: Asked,
  org: OrgRef | undefined,
): Promise<Admitted> {
  const token = bearerOf(authorization)
  const foreign =
    !token || token.startsWith(MACHINE_TOKEN_PREFIX) || token.length > MOST_TOKEN_CHARS
  if (foreign) throw unauthenticated()
  const { email, subject } = await directory.verifyIdentity(token)
  await verified({ kind: 'person', id: subject })
  return { caller: { kind: 'identity', email, subject }, org }
}

/** Where a route may be used without a credential, one that does not count is as good as none. */
async function asAnyone(deps: Deps, asked: Asked, org: OrgRef | undefined): Promise<Admitted> {
  const nobody = { caller: { kind: 'public' as const }, org }
  if (!bearerOf(asked.authorization) || !asked.route.caller.accepts.includes('platform'))
    return nobody
  return asPlatform(deps, asked, org).catch((error) => {
    if (error instanceof AppError && ['unauthenticated', 'forbidden'].includes(error.kind)) {
      return nobody
    }
    throw error
  })
}

/** By what it says of itself, which is verified afterwards: only ours name a chat user. */
function isPlatformToken(token = '') {
  try {
    return 'chat_user_id' in decodeJwt(token)
  } catch {
    return false // no JWT, which whoever verifies it refuses
  }
}

const noSession = () =>
  new AppError(
    'unauthenticated',
    'session.invalid',
    'Sign in first: open /api/accounts/chat/login in the browser',
  )

const appRefused = () =>
  new AppError('forbidden', 'app_token.not_allowed', 'An app token may not do this; sign in')

const originRefused = () =>
  new AppError(
    'forbidden',
    'origin.not_allowed',
    'A request that changes something must come from a page of CLIENT_URL, DASHBOARD_URL or ALLOWED_ORIGINS',
  )

/** A CLI token counts as its member wherever it is seen first, whatever the route. */
const machineWho = (token_id: string, member: MachineTokenFound['member']): Who =>
  member ? { kind: 'person', id: member.chat_user_id } : { kind: 'machine', id: token_id }

/** The caller and org of a machine token that counts, and whose CLI it is of. */
async function findMachine(directory: Directory, token = '') {
  if (!token.startsWith(MACHINE_TOKEN_PREFIX)) throw unauthenticated()
  const found = await directory.findMachineToken(hash('sha256', token, 'base64url'))
  if (!found || (found.expires_at && Date.parse(found.expires_at) <= Date.now())) {
    throw unauthenticated()
  }
  const { id, kind, name, scopes, org, member } = found
  return {
    caller: { kind: 'machine' as const, token_id: id, token_kind: kind, name, scopes },
    org,
    member,
  }
}

const personOf = ({ jti, exp, chat_user_id, username, type }: AccessClaims) => ({
  chat_user_id,
  username,
  token_id: jti,
  expires_at: exp,
  ...(type && { type }),
})

/** The token of RFC 6750 § 2.1. */
const bearerOf = (authorization = '') => /^Bearer +([^\s,]+)$/i.exec(authorization)?.[1]

function isOn({ module }: Route, org: OrgRef | undefined) {
  return org !== undefined && (module === undefined || org.modules.includes(module))
}

const otherOrg = () =>
  new AppError('forbidden', 'token.other_org', 'This machine token belongs to another org')

const notOfCli = () =>
  new AppError(
    'forbidden',
    'token.no_member',
    'This token is of no member: sign in with the compute CLI, or in the browser',
  )

function scopeMissing({ caller }: Route) {
  const wanted = caller.token_kind ? `${caller.scope} and kind ${caller.token_kind}` : caller.scope
  return new AppError(
    'forbidden',
    'token.scope_missing',
    `This needs a machine token with scope ${wanted}`,
  )
}
