import { answer } from '@guildhall/bus/calls'
import { tellSections } from '@guildhall/contracts/dashboard'
import { purgeOrgOf } from '@guildhall/contracts/orgs'
import { tellTrends } from '@guildhall/contracts/trends'
import type { Deps } from './deps.ts'
import { sectionsOf, trendsOf } from './orgs/dashboard.ts'
import { purgeOrg } from './orgs/purge.ts'

/** What agents answers over NATS. */
export function answerCalls({ bus, db, now }: Deps) {
  answer(bus, tellSections('agents'), ({ org_id }) => sectionsOf(db, org_id, now()))
  answer(bus, tellTrends('agents'), ({ org_id, since }) => trendsOf(db, org_id, since))
  answer(bus, purgeOrgOf('agents'), async ({ org_id }) => {
    await purgeOrg(db, org_id)
    return {}
  })
}
