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
import type { Deps } from '../deps.ts'
import { administeredOrgs } from './administered.ts'
import { calendarOf, configOf } from './config.ts'
import { knownOrg, updateOrg } from './queries.ts'
import { modulesOf, shownOrg } from './rules.ts'
import { switchModulesOf } from './switch-modules.ts'

export function orgRoutes(app: App, deps: Deps) {
  const { db, bus } = deps

  app.implement(listOrgs, async ({ caller: { chat_user_id, type } }, reply) => {
    const { orgs, degraded } = await administeredOrgs(deps, chat_user_id, type)
    if (degraded) reply.header('x-degraded', 'chat')
    const organizations = orgs.map(shownOrg)
    return reply.code(200).send({ organizations })
  })

  app.implement(getOrg, async ({ org }) => {
    const [row, config, calendar] = await Promise.all([
      knownOrg(db, org.id),
      configOf(deps, org.id),
      calendarOf(deps, org.id),
    ])
    return { ...shownOrg(row), config, calendar, last_sync_at: calendar?.last_sync_at ?? null }
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
