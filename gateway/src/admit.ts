import { hash } from 'node:crypto'
import type { AccessClaims } from '@guildhall/contracts/auth'
import { type Caller, fits } from '@guildhall/contracts/caller'
import type { OrgRef, Route } from '@guildhall/contracts/route'
import { MACHINE_TOKEN_PREFIX } from '@guildhall/contracts/tokens'
import { AppError, notFound } from '@guildhall/service/errors'
import type { AccessChecks } from './access-checks.ts'
import type { Directory } from './directory.ts'
import { type PlatformTokens, unauthenticated } from './platform-tokens.ts'

export interface Admitted {
  caller: Caller
  org: OrgRef | undefined
}

export interface Asked {
  route: Route
  /** The org of the URL, by its prefix or id. */
  org: string | number | undefined
  authorization: string | undefined
  /** Told whom the credential stands for, before it is asked what they may do. */
  verified(who: { kind: 'machine' | 'person'; id: string }): Promise<void>
}
type Verified = Asked['verified']

interface Deps {
  directory: Directory
  platformTokens: PlatformTokens
  accessChecks: AccessChecks
}

/** Makes the function that tells who calls, by what the route requires. It throws what the caller may know. */
export function createAdmit({ directory, platformTokens, accessChecks }: Deps) {
  async function asPlatform(
    route: Route,
    token: string,
    org: OrgRef | undefined,
    verified: Verified,
  ): Promise<Admitted> {
    const claims = await platformTokens.verify(token)
    const person = personOf(claims)
    await verified({ kind: 'person', id: person.chat_user_id })
    const { accepts } = route.caller
    if (accepts.includes('officer') && org) {
      const superadmin = await accessChecks.checkOfficer(route, person, org)
      return { caller: { kind: 'officer', superadmin, ...person }, org }
    }
    if (accepts.includes('superadmin')) {
      await accessChecks.checkSuperadmin(route, person)
      return { caller: { kind: 'superadmin', ...person }, org }
    }
    return { caller: { kind: 'platform', ...person }, org }
  }

  async function asMachine(
    route: Route,
    token: string | undefined,
    named: OrgRef | undefined,
    verified: Verified,
  ) {
    const admitted = await findMachine(directory, token)
    const { caller, org } = admitted
    await verified({ kind: 'machine', id: caller.token_id })
    if (named && named.id !== org.id) throw otherOrg()
    if (!isOn(route, org)) throw notFound()
    if (!fits(caller, route.caller)) throw scopeMissing(route)
    return admitted
  }

  /** Where a route may be used without a credential, one that does not count is as good as none. */
  async function asAnyone(
    route: Route,
    token: string | undefined,
    org: OrgRef | undefined,
    verified: Verified,
  ): Promise<Admitted> {
    const nobody = { caller: { kind: 'public' as const }, org }
    if (!token || !route.caller.accepts.includes('platform')) return nobody
    return asPlatform(route, token, org, verified).catch((error) => {
      if (error instanceof AppError && ['unauthenticated', 'forbidden'].includes(error.kind)) {
        return nobody
      }
      throw error
    })
  }

  /** A route of a module that the org has off looks like no route at all. */
  return async ({ route, org: named, authorization, verified }: Asked): Promise<Admitted> => {
    const org = named === undefined ? undefined : await directory.findOrg(named)
    if (named !== undefined && !isOn(route, org)) throw notFound()
    const { accepts } = route.caller
    const token = bearerOf(authorization)
    if (accepts.includes('public')) return asAnyone(route, token, org, verified)
    if (accepts.includes('machine')) return asMachine(route, token, org, verified)
    if (!token || token.startsWith(MACHINE_TOKEN_PREFIX)) {
      accessChecks.noteNoCredential(route, org)
      throw unauthenticated()
    }
    return asPlatform(route, token, org, verified)
  }
}

/** The caller and org of a machine token that counts. */
async function findMachine(directory: Directory, token = '') {
  if (!token.startsWith(MACHINE_TOKEN_PREFIX)) throw unauthenticated()
  const found = await directory.findMachineToken(hash('sha256', token, 'base64url'))
  if (!found || (found.expires_at && Date.parse(found.expires_at) <= Date.now())) {
    throw unauthenticated()
  }
  const { id, kind, name, scopes, org } = found
  return {
    caller: { kind: 'machine' as const, token_id: id, token_kind: kind, name, scopes },
    org,
  }
}

const personOf = ({ jti, exp, chat_user_id, username }: AccessClaims) => ({
  chat_user_id,
  username,
  token_id: jti,
  expires_at: exp,
})

/** The token of RFC 6750 § 2.1. */
const bearerOf = (authorization = '') => /^Bearer +([^\s,]+)$/i.exec(authorization)?.[1]

function isOn({ module }: Route, org: OrgRef | undefined) {
  return org !== undefined && (module === undefined || org.modules.includes(module))
}

const otherOrg = () =>
  new AppError('forbidden', 'token.other_org', 'This machine token belongs to another org')

function scopeMissing({ caller }: Route) {
  const wanted = caller.token_kind ? `${caller.scope} and kind ${caller.token_kind}` : caller.scope
  return new AppError(
    'forbidden',
    'token.scope_missing',
    `This needs a machine token with scope ${wanted}`,
  )
}
