import { answer } from '@guildhall/bus/calls'
import { purgeOrgOf } from '@guildhall/contracts/orgs'
import type { Deps } from './deps.ts'
import { purgeOrg } from './orgs/purge.ts'

/** What compute answers over NATS. */
export function answerCalls(deps: Deps) {
  answer(deps.bus, purgeOrgOf('compute'), async ({ org_id }) => {
    await purgeOrg(deps, org_id)
    return {}
  })
}
