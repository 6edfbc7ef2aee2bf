import { tellChanged } from '@guildhall/bus/changed'
import { audit, enqueue, type Outgoing } from '@guildhall/bus/outbox'
import { changed } from '@guildhall/contracts/event'
import { forgetOrgOf } from '@guildhall/contracts/orgs'
import {
  addOrg,
  checkSuperadmin,
  deactivateOrg,
  listEveryOrg,
  listMarkedPublishers,
  officerRoleChanged,
  orgDeactivated,
  prefixChanged,
  publisherMarked,
  publisherUnmarked,
  putOfficerRole,
  putPrefix,
  putPublisher,
} from '@guildhall/contracts/superadmin'
import { violates } from '@guildhall/db/violations'
import type { App } from '@guildhall/service/app'
import { pageOf } from '@guildhall/service/paging'
import { checkOfficerRole, checkOnServer } from '../clients/guilds.ts'
import type { OrgRow, Trx } from '../db.ts'
import type { Deps } from '../deps.ts'
import { createOrgFrom } from '../orgs/create.ts'
import { checkNotReserved, checkPrefix, prefixTaken, reservePrefix } from '../orgs/prefix.ts'
import { askEvery } from '../orgs/purge.ts'
import { knownOrg, lockOrg, orgPage, publisherPage, updateOrg } from '../orgs/queries.ts'
import { shownOrg } from '../orgs/rules.ts'

const byId = ({ id }: OrgRow) => String(id)

export function superadminRoutes(app: App, deps: Deps) {
  const { db, bus, chat } = deps

  app.implement(checkSuperadmin, async ({ caller: { chat_user_id } }) => ({
    superadmin: true,
    chat_user_id,
  }))

  app.implement(listEveryOrg, async ({ query: { limit, cursor } }) => {
    const asked = { limit, cursor, bound: 'superadmin orgs' }
    const { items, next_cursor } = await pageOf(asked, (page) => orgPage(db, page), byId)
    return { organizations: items.map(shownOrg), next_cursor }
  })

  app.implement(addOrg, async ({ body, caller }, reply) => {
    if (body.officer_role_id === null) await checkOnServer(chat, body.chat_server_id)
    const { org, created } = await createOrgFrom(deps, { ...body, off: [] }, caller)
    return reply.code(created ? 201 : 200).send(org)
  })

  app.implement(deactivateOrg, async ({ org, caller }) => {
    await change(org, async (trx, { prefix }) => {
      await updateOrg(trx, org.id, { active: false })
      return audit(orgDeactivated, caller, org, { prefix })
    })
    return { deactivated: true, ...(await askEvery(bus, forgetOrgOf, org.id)) }
  })

  app.implement(putOfficerRole, async ({ org, caller, body: { officer_role_id } }) => {
    const { chat_server_id } = await knownOrg(db, org.id)
    if (officer_role_id !== null) await checkOfficerRole(chat, chat_server_id, officer_role_id)
    await change(org, async (trx, { officer_role_id: from }) => {
      await updateOrg(trx, org.id, { officer_role_id })
      return audit(officerRoleChanged, caller, org, { from, to: officer_role_id })
    })
    return shownOrg(await knownOrg(db, org.id))
  })

  app.implement(putPrefix, async ({ org, caller, body: { prefix } }) => {
    checkPrefix(prefix)
    await change(org, async (trx, { id, prefix: from }) => {
      if (from === prefix) return undefined
      await reservePrefix(trx, { prefix: from, org_id: id })
      await updateOrg(trx, id, { prefix })
      await checkNotReserved(trx, { prefix, id })
      return audit(prefixChanged, caller, org, { from, to: prefix })
    }).catch((error) => {
      throw violates(error, 'orgs_prefix') ? prefixTaken() : error
    })
    return shownOrg(await knownOrg(db, org.id))
  })

  app.implement(listMarkedPublishers, async ({ query: { limit, cursor } }) => {
    const asked = { limit, cursor, bound: 'superadmin publishers' }
    const { items, next_cursor } = await pageOf(asked, (page) => publisherPage(db, page), byId)
    return { publishers: items.map(shownPublisher), next_cursor }
  })

  app.implement(putPublisher, async ({ org, caller, body: { publisher } }) => {
    await change(org, async (trx, before) => {
      if (before.publisher === publisher) return undefined
      await updateOrg(trx, org.id, { publisher })
      return audit(publisher ? publisherMarked : publisherUnmarked, caller, org, {})
    })
    return shownPublisher(await knownOrg(db, org.id))
  })

  /** Changes an active org under its lock, with the audit line that `work` answers, and tells everybody. */
  async function change(
    { id }: { id: number },
    work: (trx: Trx, org: OrgRow) => Promise<Outgoing | undefined>,
  ) {
    await db.transaction().execute(async (trx) => {
      const org = await lockOrg(trx, id)
      const line = await work(trx, org)
      if (line) await enqueue(trx, line)
    })
    tellChanged(bus, changed.org, id)
  }
}

const shownPublisher = ({ id, prefix, name, publisher }: OrgRow) => ({
  org_id: id,
  prefix,
  name,
  publisher,
})
