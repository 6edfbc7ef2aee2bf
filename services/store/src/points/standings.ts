import { ask } from '@guildhall/bus/calls'
import type { Caller } from '@guildhall/contracts/caller'
import { findMembership } from '@guildhall/contracts/members'
import { getLeaderboard, getPoints, type Standing } from '@guildhall/contracts/points'
import type { OrgRef, Route } from '@guildhall/contracts/route'
import type { App } from '@guildhall/service/app'
import { jsonArrayFrom } from 'kysely/helpers/postgres'
import type { Db } from '../db.ts'
import type { Deps } from '../deps.ts'
import { shownName } from '../members/rules.ts'
import { noteDenied } from '../site/note-denied.ts'

/** Awards that a line of the list shows. */
const MOST_DETAILS = 20
/** What everybody may see of somebody's points: what they earned, and not what was taken from them. */
const EARNED = ['award', 'csv'] as const

/** The lists of members that everybody may see. */
export function standingRoutes(app: App, deps: Deps) {
  const { db } = deps

  app.implement(getLeaderboard, async ({ org, query, caller }) => {
    const [rows, emails] = await Promise.all([
      ranked(db, org.id, query).execute(),
      seesEmails(deps, { route: getLeaderboard, org, caller }),
    ])
    return rows.map((row) => shown(row, emails))
  })

  app.implement(getPoints, async ({ org, query, caller }) => {
    const [rows, emails] = await Promise.all([
      named(db, org.id, query).execute(),
      seesEmails(deps, { route: getPoints, org, caller }),
    ])
    return rows.map((row) => shown(row, emails))
  })
}

interface Page {
  limit: number
  offset: number
}

/** Members with the most points first. */
export const ranked = (db: Db, orgId: number, page: Page) =>
  withAwards(db, membersOf(db, orgId, page).orderBy('balance', 'desc').orderBy('id'))
    .orderBy('m.balance', 'desc')
    .orderBy('m.id')

const named = (db: Db, orgId: number, page: Page) =>
  withAwards(db, membersOf(db, orgId, page).orderBy('name').orderBy('id'))
    .orderBy('m.name')
    .orderBy('m.id')

const membersOf = (db: Db, orgId: number, { limit, offset }: Page) =>
  db
    .selectFrom('memberships')
    .select(['id', 'name', 'email', 'balance'])
    .where('org_id', '=', orgId)
    .limit(limit)
    .offset(offset)

/** The members of a page, which is cut first, so that nothing is read of those before it. */
const withAwards = (db: Db, page: ReturnType<typeof membersOf>) =>
  db
    .selectFrom(page.as('m'))
    .select((from) => [
      'm.id',
      'm.name',
      'm.email',
      'm.balance',
      jsonArrayFrom(
        from
          .selectFrom('ledger as l')
          .whereRef('l.membership', '=', 'm.id')
          .where('l.kind', 'in', EARNED)
          .orderBy('l.id', 'desc')
          .limit(MOST_DETAILS)
          .select(['l.event', 'l.points', 'l.created_at as timestamp']),
      ).as('awards'),
    ])

type Ranked = Awaited<ReturnType<ReturnType<typeof ranked>['execute']>>[0]

const shown = ({ id, name, email, balance, awards }: Ranked, emails: boolean): Standing => ({
  name: shownName(name),
  identifier: (emails && email) || id,
  total_points: balance,
  points_details: awards.map(({ timestamp, ...award }) => ({
    ...award,
    timestamp: new Date(timestamp).toISOString(),
  })),
})

interface Asking {
  route: Route
  org: OrgRef
  caller: Extract<Caller, { kind: 'public' | 'platform' | 'machine' }>
}

/** Officers of this org see emails; whoever else asks sees none, whatever ACCESS_ENFORCE says. */
async function seesEmails({ bus, log }: Deps, { route, org, caller }: Asking): Promise<boolean> {
  if (caller.kind !== 'platform') return false // asked for no emails, so nothing was denied
  const asked = { org_id: org.id, chat_user_id: caller.chat_user_id }
  const { officer } = await ask(bus, findMembership, asked).catch((err) => {
    log.warn({ err }, 'Nobody said whether an officer asks for members: ids are shown')
    return { officer: false }
  })
  if (!officer)
    noteDenied(log, { decision: 'deny', reason: 'member_details_hidden', route, org, caller })
  return officer
}
