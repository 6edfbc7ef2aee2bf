import type { OrgRef } from '@guildhall/contracts/route'
import {
  getMemberProfile,
  getMyPoints,
  getWallet,
  memberLogin,
  type Wallet,
} from '@guildhall/contracts/store-members'
import type { App } from '@guildhall/service/app'
import type { Deps } from '../deps.ts'
import { emailOfMember } from '../members/queries.ts'
import { memberNotFound, shownName } from '../members/rules.ts'
import { otherEmail, ownMembership, provedBy } from '../people/own.ts'
import type { Proved } from '../people/people.ts'
import { entriesOf } from '../points/queries.ts'
import { noteDenied } from './note-denied.ts'
import { signIn } from './sign-in.ts'

/** Entries of a wallet (decisions.md § 5). */
const MOST_ENTRIES = 20

/** What members see of themselves, on the store site and in their chat session. */
export function siteRoutes(app: App, deps: Deps) {
  const { db, log, config } = deps

  app.implement(memberLogin, async ({ org, body, caller }) => {
    if (body.email !== caller.email.toLowerCase()) {
      const reason = 'member_login_unverified'
      const decision = config.ACCESS_ENFORCE ? 'deny' : 'would_deny'
      noteDenied(log, { decision, reason, route: memberLogin, org, caller })
      if (config.ACCESS_ENFORCE) throw otherEmail()
      return { message: 'Sign in with the account that has this email; nothing was changed' }
    }
    await signIn(deps, org, { said: body, caller })
    return profile(org, { email: body.email }, 'Signed in')
  })

  app.implement(getMemberProfile, async ({ org, caller }) =>
    profile(org, await provedBy(deps, caller), 'Signed in'),
  )

  app.implement(getWallet, async ({ org, params: { email }, caller }) => {
    return wallet(org.id, await provedBy(deps, caller, email))
  })

  app.implement(getMyPoints, async ({ org, caller }) =>
    wallet(org.id, await provedBy(deps, caller)),
  )

  async function profile({ id, name, prefix }: OrgRef, proved: Proved, message: string) {
    const member = await ownMembership(db, id, proved)
    if (!member) throw memberNotFound()
    const { username, student_id } = member
    const email = emailOfMember(member)
    const chat_linked = member.chat_user_id !== null
    const user = {
      id: member.id,
      name: shownName(member.name),
      username,
      email,
      student_id,
      chat_linked,
    }
    return { message, user, organization: { id, name, prefix } }
  }

  async function wallet(orgId: number, proved: Proved): Promise<Wallet> {
    const member = await ownMembership(db, orgId, proved)
    const email = 'email' in proved ? proved.email : member ? emailOfMember(member) : null
    if (!member) return { email, total_points: 0, points_breakdown: [] }
    const page = { before: undefined, limit: MOST_ENTRIES }
    const entries = await entriesOf(db, member.id, page)
    return {
      email,
      total_points: member.balance,
      points_breakdown: entries.map(({ points, event, timestamp, awarded_by }) => ({
        ...{ points, event, timestamp, awarded_by },
      })),
    }
  }
}
