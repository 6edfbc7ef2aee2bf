import { tellChanged } from '@guildhall/bus/changed'
import { audit, enqueue } from '@guildhall/bus/outbox'
import { changed } from '@guildhall/contracts/event'
import type { ModuleName } from '@guildhall/contracts/names'
import { modulesSwitched } from '@guildhall/contracts/orgs'
import type { Deps } from '../deps.ts'
import { lockOrg, updateOrg } from './queries.ts'
import { modulesOf, switchedOff } from './rules.ts'

/** Switches modules of an org and tells every gateway. */
export async function switchModulesOf(
  { db, bus }: Deps,
  { id }: { id: number },
  switches: Partial<Record<ModuleName, boolean>>,
  by: Parameters<typeof audit>[1],
) {
  const row = await db.transaction().execute(async (trx) => {
    const org = await lockOrg(trx, id)
    await enqueue(trx, audit(modulesSwitched, by, { id }, { modules: switches }))
    return updateOrg(trx, id, { modules_off: switchedOff(org.modules_off, switches) })
  })
  tellChanged(bus, changed.org, id)
  return modulesOf(row)
}
