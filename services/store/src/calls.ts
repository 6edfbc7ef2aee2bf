import { answer } from '@guildhall/bus/calls'
import { purgeOrgOf } from '@guildhall/contracts/orgs'
import { linkPeople } from '@guildhall/contracts/store-members'
import type { Deps } from './deps.ts'
import { purgeOrg } from './orgs/purge.ts'
import { link } from './people/link.ts'

/** What the store answers over NATS. */
export function answerCalls(deps: Deps) {
  answer(deps.bus, linkPeople, async (accounts) => {
    await link(deps, accounts)
    return {}
  })
  answer(deps.bus, purgeOrgOf('store'), async ({ org_id }) => {
    await purgeOrg(deps.db, org_id)
    return {}
  })
}
