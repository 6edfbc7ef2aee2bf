import { answer } from '@guildhall/bus/calls'
import { tellSections } from '@guildhall/contracts/dashboard'
import { tellProblems } from '@guildhall/contracts/notifications'
import { endPods as endPodsOf, purgeOrgOf } from '@guildhall/contracts/orgs'
import { tellTrends } from '@guildhall/contracts/trends'
import type { Deps } from './deps.ts'
import { problemsOf, sectionsOf, trendsOf } from './orgs/dashboard.ts'
import { endPods } from './orgs/end-pods.ts'
import { purgeOrg } from './orgs/purge.ts'

/** What compute answers over NATS. */
export function answerCalls(deps: Deps) {
  const { bus, db, now } = deps
  answer(bus, tellSections('compute'), ({ org_id }) => sectionsOf(db, org_id, now()))
  answer(bus, tellTrends('compute'), ({ org_id, since }) => trendsOf(db, org_id, since, now()))
  answer(bus, tellProblems('compute'), async ({ org_id }) => ({
    problems: await problemsOf(db, org_id, now()),
  }))
  answer(deps.bus, endPodsOf, ({ org_id }) => endPods(deps, org_id))
  answer(deps.bus, purgeOrgOf('compute'), async ({ org_id }) => {
    await purgeOrg(deps, org_id)
    return {}
  })
}
