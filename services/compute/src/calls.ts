import { answer } from '@guildhall/bus/calls'
import { endPods as endPodsOf, purgeOrgOf } from '@guildhall/contracts/orgs'
import type { Deps } from './deps.ts'
import { endPods } from './orgs/end-pods.ts'
import { purgeOrg } from './orgs/purge.ts'

/** What compute answers over NATS. */
export function answerCalls(deps: Deps) {
  answer(deps.bus, endPodsOf, ({ org_id }) => endPods(deps, org_id))
  answer(deps.bus, purgeOrgOf('compute'), async ({ org_id }) => {
    await purgeOrg(deps, org_id)
    return {}
  })
}
