import { tellChanged } from '@guildhall/bus/changed'
import { audit, enqueue } from '@guildhall/bus/outbox'
import { changed } from '@guildhall/contracts/event'
import {
  getModules,
  getOrg,
  listOrgs,
  orgSettingsChanged,
  putModules,
  putOrgSettings,
} from '@guildhall/contracts/orgs'
import type { App } from '@guildhall/service/app'
import { isAppToken } from '../app-tokens/queries.ts'
import { chatUnavailable } from '../clients/chat.ts'
import type { Deps } from '../deps.ts'
import { configOf } from './config.ts'
import { allOrgs, knownOrg, updateOrg } from './queries.ts'
import { modulesOf, shownOrg } from './rules.ts'
import { switchModulesOf } from './switch-modules.ts'

export function orgRoutes(app: App, deps: Deps) {
  const { db, bus, access } = deps

  app.implement(listOrgs, async ({ caller }) => {
    const orgs = await allOrgs(db)
    const type = (await isAppToken(db, caller)) ? 'app' : undefined // never the superadmin's
    const decisions = await Promise.all(
      orgs.map((org) => access.decide(caller.chat_user_id, org, type)),
    )
    if (decisions.some(({ reason }) => reason === 'bot_unavailable')) throw chatUnavailable()
    return { organizations: orgs.filter((_, i) => decisions[i]?.allowed).map(shownOrg) }
  })

  app.implement(getOrg, async ({ org }) => {
    const [row, config] = await Promise.all([knownOrg(db, org.id), configOf(deps, org.id)])
    return { ...shownOrg(row), config }
  })

  app.implement(putOrgSettings, async ({ org, caller, body }) => {
    const row = await db.transaction().execute(async (trx) => {
      await enqueue(trx, audit(orgSettingsChanged, caller, org, { fields: Object.keys(body) }))
      return updateOrg(trx, org.id, body)
    })
    tellChanged(bus, changed.org, org.id)
    return shownOrg(row)
  })

  app.implement(getModules, async ({ org }) => ({ modules: modulesOf(await knownOrg(db, org.id)) }))

  app.implement(putModules, async ({ org, caller, body }) => ({
    modules: await switchModulesOf(deps, org, body.modules, caller),
  }))
}
