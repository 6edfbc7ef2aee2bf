import { answer } from '@guildhall/bus/calls'
import { tellSections } from '@guildhall/contracts/dashboard'
import { tellProblems } from '@guildhall/contracts/notifications'
import { purgeOrgOf } from '@guildhall/contracts/orgs'
import { tellTrends } from '@guildhall/contracts/trends'
import type { Deps } from './deps.ts'
import { problemsOf, sectionsOf, trendsOf } from './orgs/dashboard.ts'
import { purgeOrg } from './orgs/prune.ts'

/** What alerts answers over NATS. */
export function answerCalls({ bus, db }: Deps) {
  answer(bus, tellSections('alerts'), ({ org_id }) => sectionsOf(db, org_id))
  answer(bus, tellTrends('alerts'), ({ org_id, since }) => trendsOf(db, org_id, since))
  answer(bus, tellProblems('alerts'), async ({ org_id }) => ({
    problems: await problemsOf(db, org_id),
  }))
  answer(bus, purgeOrgOf('alerts'), async ({ org_id }) => {
    await purgeOrg(db, org_id)
    return {}
  })
}
