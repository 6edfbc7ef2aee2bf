import { tellChanged } from '@guildhall/bus/changed'
import { audit, enqueue } from '@guildhall/bus/outbox'
import { changed } from '@guildhall/contracts/event'
import { brandingChanged, getBranding, putBranding } from '@guildhall/contracts/orgs'
import type { App } from '@guildhall/service/app'
import type { Deps } from '../deps.ts'
import { knownOrg, lockOrg, updateOrg } from './queries.ts'
import { brandingOf } from './rules.ts'

export function brandingRoutes(app: App, { db, bus }: Deps) {
  app.implement(getBranding, async ({ org }) => brandingOf(await knownOrg(db, org.id)))

  app.implement(putBranding, async ({ org, caller, body }) => {
    const row = await db.transaction().execute(async (trx) => {
      await lockOrg(trx, org.id)
      await enqueue(trx, audit(brandingChanged, caller, org, { fields: Object.keys(body) }))
      return updateOrg(trx, org.id, body)
    })
    tellChanged(bus, changed.org, org.id)
    return brandingOf(row)
  })
}
