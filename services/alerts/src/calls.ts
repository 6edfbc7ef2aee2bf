import { answer } from '@guildhall/bus/calls'
import { purgeOrgOf } from '@guildhall/contracts/orgs'
import type { Deps } from './deps.ts'
import { purgeOrg } from './orgs/prune.ts'

/** What alerts answers over NATS. */
export function answerCalls({ bus, db }: Deps) {
  answer(bus, purgeOrgOf('alerts'), async ({ org_id }) => {
    await purgeOrg(db, org_id)
    return {}
  })
}
