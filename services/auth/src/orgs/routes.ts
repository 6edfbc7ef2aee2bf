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
import { chatUnavailable } from '../clients/chat.ts'
import type { Deps } from '../deps.ts'
import { configOf } from './config.ts'
import { allOrgs, knownOrg, orgsOfPerson, updateOrg } from './queries.ts'
import { modulesOf, shownOrg } from './rules.ts'
import { switchModulesOf } from './switch-modules.ts'

export function orgRoutes(app: App, deps: Deps) {
  const { db, bus, access } = deps

  app.implement(listOrgs, async ({ caller: { chat_user_id, type } }, reply) => {
    const superadmin = type !== 'app' && access.isSuperadmin(chat_user_id)
    const orgs = superadmin ? await allOrgs(db) : await orgsOfPerson(db, chat_user_id)
    const decisions = await Promise.all(orgs.map((org) => access.decide(chat_user_id, org, type)))
    const organizations = orgs.filter((_, i) => decisions[i]?.allowed).map(shownOrg)
    if (decisions.some(({ reason }) => reason === 'bot_unavailable')) {
      if (organizations.length === 0) throw chatUnavailable()
      reply.header('x-degraded', 'chat') // those of which the platform did not tell are left out
    }
    return reply.code(200).send({ organizations })
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
