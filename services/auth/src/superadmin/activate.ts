import { tellChanged } from '@guildhall/bus/changed'
import { audit, enqueue } from '@guildhall/bus/outbox'
import { changed } from '@guildhall/contracts/event'
import { activateOrg, orgActivated } from '@guildhall/contracts/superadmin'
import type { App } from '@guildhall/service/app'
import { AppError } from '@guildhall/service/errors'
import type { Deps } from '../deps.ts'
import { lockAnyOrg, updateOrg } from '../orgs/queries.ts'

export function activateRoutes(app: App, { db, bus }: Deps) {
  app.implement(activateOrg, async ({ caller, params: { id } }) => {
    await db.transaction().execute(async (trx) => {
      const org = await lockAnyOrg(trx, id)
      if (!org) throw unknown()
      if (org.active) throw alreadyActive(org)
      await updateOrg(trx, id, { active: true })
      await enqueue(trx, audit(orgActivated, caller, org, { prefix: org.prefix }))
    })
    tellChanged(bus, changed.org, id) // a gateway may know it as none
    return { activated: true }
  })
}

const unknown = () =>
  new AppError(
    'not_found',
    'org.not_found',
    'There is no such org, or it was purged; GET /api/superadmin/orgs lists those there are',
  )
const alreadyActive = ({ prefix }: { prefix: string }) =>
  new AppError('conflict', 'org.active', `${prefix} is active; there is nothing to undo`)
