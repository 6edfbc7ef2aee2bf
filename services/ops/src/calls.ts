import { answer } from '@guildhall/bus/calls'
import { purgeOrgOf } from '@guildhall/contracts/orgs'
import type { Deps } from './deps.ts'
import { deleteErrorsOf } from './errors/queries.ts'
import { deleteDashboardOf } from './notifications/queries.ts'

/** What ops answers over NATS. */
export function answerCalls({ bus, db }: Deps) {
  // errors may quote what members wrote; audit lines never do, and stay as the record
  answer(bus, purgeOrgOf('ops'), async ({ org_id }) => {
    await deleteErrorsOf(db, org_id)
    await deleteDashboardOf(db, org_id)
    return {}
  })
}
