import { getOverview, listActivity } from '@guildhall/contracts/dashboard'
import type { App } from '@guildhall/service/app'
import { pageOf } from '@guildhall/service/paging'
import { auditLines } from '../audit/queries.ts'
import type { Deps } from '../deps.ts'
import { runsOfOrg } from '../job-runs/of-org.ts'
import { notificationsOf } from '../notifications/of-org.ts'
import { sectionsOf } from './sections.ts'

/** How much of each list the overview shows. */
const SHOWN = 20
const FIRST = { before: undefined, limit: SHOWN }

export function overviewRoutes(app: App, deps: Deps) {
  const { db, now } = deps
  app.implement(getOverview, async ({ org, caller }) => {
    const seesActivity = caller.kind !== 'machine' || caller.scopes.includes('activity:read')
    const [sections, { notifications }, activity, { runs }] = await Promise.all([
      sectionsOf(deps, org),
      notificationsOf(deps, org),
      auditLines(db, { org_id: org.id }, FIRST),
      runsOfOrg(deps, org, FIRST),
    ])
    const { id, prefix, name, modules } = org
    return {
      organization: { id, prefix, name },
      modules: [...modules],
      sections,
      problems: notifications.filter(({ resolved_at }) => resolved_at === null),
      activity: seesActivity ? activity : [],
      jobs: seesActivity ? runs : [],
      generated_at: now().toISOString(),
    }
  })

  app.implement(listActivity, async ({ org, query: { limit, cursor } }) => {
    const { items, next_cursor } = await pageOf(
      { limit, cursor, bound: ['activity', org.id] },
      (page) => auditLines(db, { org_id: org.id }, page),
    )
    return { activity: items, next_cursor }
  })
}
