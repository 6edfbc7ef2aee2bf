import { answer } from '@guildhall/bus/calls'
import { findResolved } from '@guildhall/contracts/notifications'
import { purgeOrgOf } from '@guildhall/contracts/orgs'
import type { Deps } from './deps.ts'
import { deleteErrorsOf } from './errors/queries.ts'
import { deleteDashboardOf, resolvedOf } from './notifications/queries.ts'

/** What ops answers over NATS. */
export function answerCalls({ bus, db }: Deps) {
  answer(bus, findResolved, async ({ org_id }) => ({
    ids: (await resolvedOf(db, org_id)).map(({ id }) => id),
  }))
  // errors may quote what members wrote; audit lines never do, and stay as the record
  answer(bus, purgeOrgOf('ops'), async ({ org_id }) => {
    await deleteErrorsOf(db, org_id)
    await deleteDashboardOf(db, org_id)
    return {}
  })
}
