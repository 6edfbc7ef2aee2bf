import { ask } from '@guildhall/bus/calls'
import type { Caller } from '@guildhall/contracts/caller'
import { findMembership } from '@guildhall/contracts/members'
import { getLeaderboard, getPoints, type Standing } from '@guildhall/contracts/points'
import type { OrgRef, Route } from '@guildhall/contracts/route'
import type { App } from '@guildhall/service/app'
import { jsonArrayFrom } from 'kysely/helpers/postgres'
import type { Db } from '../db.ts'
import type { Deps } from '../deps.ts'
import { noteDenied } from '../site/note-denied.ts'
import { GIVEN } from './queries.ts'

/** Awards that a line of the list shows. */
const MOST_DETAILS = 20

/** The lists of members that everybody may see. */
export function standingRoutes(app: App, deps: Deps) {
  app.implement(getLeaderboard, async ({ org, query, caller }) => {
    const page = ranked(deps.db, org.id).orderBy('m.balance', 'desc').orderBy('m.id')
    const rows = await page.limit(query.limit).offset(query.offset).execute()
    return shown(rows, await seesEmails(deps, { route: getLeaderboard, org, caller }))
  })

  app.implement(getPoints, async ({ org, query, caller }) => {
    const page = ranked(deps.db, org.id).orderBy('m.name').orderBy('m.id')
    const rows = await page.limit(query.limit).offset(query.offset).execute()
    return shown(rows, await seesEmails(deps, { route: getPoints, org, caller }))
  })
}

const ranked = (db: Db, orgId: number) =>
  db
    .selectFrom('memberships as m')
    .where('m.org_id', '=', orgId)
    .select((from) => [
      'm.id',
      'm.name',
      'm.email',
      'm.balance',
      jsonArrayFrom(
        from
          .selectFrom('ledger as l')
          .whereRef('l.membership', '=', 'm.id')
          .where('l.kind', 'in', GIVEN)
          .orderBy('l.id', 'desc')
          .limit(MOST_DETAILS)
          .select(['l.event', 'l.points', 'l.created_at as timestamp']),
      ).as('awards'),
    ])

type Ranked = Awaited<ReturnType<ReturnType<typeof ranked>['execute']>>[0]

const shown = (rows: Ranked[], emails: boolean): Standing[] =>
  rows.map(({ id, name, email, balance, awards }) => ({
    name,
    identifier: (emails && email) || id,
    total_points: balance,
    points_details: awards.map(({ timestamp, ...award }) => ({
      ...award,
      timestamp: new Date(timestamp).toISOString(),
    })),
  }))

/** Officers of this org see emails; whoever else asks sees none, whatever ACCESS_ENFORCE says. */
async function seesEmails(
  { bus, log }: Deps,
  {
    route,
    org,
    caller,
  }: {
    route: Route
    org: OrgRef
    caller: Extract<Caller, { kind: 'public' | 'platform' | 'machine' }>
  },
): Promise<boolean> {
  if (caller.kind === 'platform') {
    const asked = { org_id: org.id, chat_user_id: caller.chat_user_id }
    const { officer } = await ask(bus, findMembership, asked).catch(() => ({ officer: false }))
    if (officer) return true
  }
  noteDenied(log, { decision: 'deny', reason: 'member_details_hidden', route, org })
  return false
}
