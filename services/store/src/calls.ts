import { answer } from '@guildhall/bus/calls'
import { tellSections } from '@guildhall/contracts/dashboard'
import { purgeOrgOf } from '@guildhall/contracts/orgs'
import { linkPeople } from '@guildhall/contracts/store-members'
import { tellTrends } from '@guildhall/contracts/trends'
import type { Deps } from './deps.ts'
import { sectionsOf, trendsOf } from './orgs/dashboard.ts'
import { purgeOrg } from './orgs/purge.ts'
import { link } from './people/link.ts'

/** What the store answers over NATS. */
export function answerCalls(deps: Deps) {
  answer(deps.bus, linkPeople, async (accounts) => {
    await link(deps, accounts)
    return {}
  })
  answer(deps.bus, tellSections('store'), ({ org_id }) => sectionsOf(deps.db, org_id, deps.now()))
  answer(deps.bus, tellTrends('store'), ({ org_id, since }) => trendsOf(deps.db, org_id, since))
  answer(deps.bus, purgeOrgOf('store'), async ({ org_id }) => {
    await purgeOrg(deps.db, org_id)
    return {}
  })
}
