import type { AccessClaims, AccessReason } from '@guildhall/contracts/auth'
import type { OrgRef, Route } from '@guildhall/contracts/route'
import { AppError } from '@guildhall/service/errors'
import type { Log } from '@guildhall/service/log'
import type { Directory } from './directory.ts'

interface Person {
  chat_user_id: string
}
/** A person, and whether their token is an app's: then it never stands for the superadmin. */
interface Bearer extends Person {
  type?: AccessClaims['type']
}

export type AccessChecks = ReturnType<typeof createAccessChecks>

/**
 * Asks auth who may act on an org (interface.md, Access checks). Where `enforce` is false, a denied check
 * of an officer is only logged; those of the superadmin know no such mode (decisions.md § 0).
 */
export function createAccessChecks({
  directory,
  enforce,
  log,
}: {
  directory: Directory
  enforce: boolean
  log: Log
}) {
  return {
    /** Throws where the person may not act on the org; answers whether it is the superadmin. */
    async checkOfficer(route: Route, person: Bearer, org: OrgRef): Promise<boolean> {
      const { allowed, reason, superadmin } = await decide(person, org)
      if (allowed) return superadmin
      const why = reason ?? 'not_org_officer'
      note(enforce ? 'deny' : 'would_deny', why, route, person, org)
      if (enforce) throw denied(why)
      return false
    },

    /** Throws 403 unless the person is on the org's chat server, and 503 where the chat platform does not tell. */
    async checkMember(person: Person, org: OrgRef) {
      const { member } = await directory.membership(person.chat_user_id, org.id)
      if (!member) throw notMember()
    },

    /** Notes that a platform token was needed and none that counts came. */
    noteNoCredential({ method, url }: Route, org?: OrgRef) {
      const where = `route=${method} ${url} org=${org?.prefix ?? '-'}`
      const reason = 'no_platform_credential'
      log.warn({ reason }, `access decision=deny reason=${reason} ${where} credential=none`)
    },

    /** Throws unless the person is the superadmin. */
    async checkSuperadmin(route: Route, person: Bearer) {
      if (person.type !== 'app' && (await directory.isSuperadmin(person.chat_user_id))) return
      note('deny', 'not_superadmin', route, person)
      throw denied('not_superadmin')
    },
  }

  /** A decision that does not come in time is one that the chat platform did not give. */
  function decide(person: Bearer, org: OrgRef) {
    return directory.decide(person, org.id).catch((error) => {
      if (error instanceof AppError && error.kind === 'unavailable') {
        return { allowed: false, reason: 'bot_unavailable' as const, superadmin: false }
      }
      throw error
    })
  }

  function note(
    decision: 'deny' | 'would_deny',
    reason: AccessReason,
    { method, url }: Route,
    person: Person,
    org?: OrgRef,
  ) {
    const where = `route=${method} ${url} org=${org?.prefix ?? '-'}`
    log.warn(
      { reason },
      `access decision=${decision} reason=${reason} ${where} credential=platform:${person.chat_user_id}`,
    )
  }
}

const DENIED: Partial<Record<AccessReason, string>> = {
  not_org_officer: "You do not hold this org's officer role",
  not_superadmin: 'Only the superadmin may do this',
}

const notMember = () =>
  new AppError(
    'forbidden',
    'access.not_member',
    "You are not on this club's chat server; join it and try again",
  )

function denied(reason: AccessReason) {
  if (reason === 'bot_unavailable') {
    return new AppError(
      'unavailable',
      'access.bot_unavailable',
      'The chat platform does not answer, so your role is unknown; try again in a minute',
    )
  }
  return new AppError('forbidden', `access.${reason}`, DENIED[reason] ?? 'You may not do this')
}
