import { listMemberRoles, listMembers } from '@guildhall/contracts/members'
import type { App } from '@guildhall/service/app'
import { notFound } from '@guildhall/service/errors'
import type { Deps } from '../deps.ts'
import { orgById } from '../orgs/queries.ts'
import { membersByIds } from './by-ids.ts'
import { directoryOf, rolesOf, shownMember } from './rules.ts'

export function memberRoutes(app: App, deps: Deps) {
  const { db, chat } = deps

  app.implement(listMembers, async ({ org, query: { q, ids, role, limit } }) => {
    const row = await known(org.id)
    if (ids) {
      const members = await membersByIds(deps, row, ids)
      return { members: members.map(shownMember), total: members.length }
    }
    const { chat_server_id } = row
    const found = await (q ? chat.membersLike(chat_server_id, q) : chat.members(chat_server_id))
    return directoryOf(found, { role, limit })
  })

  app.implement(listMemberRoles, async ({ org }) => {
    const { chat_server_id } = await known(org.id)
    return { roles: rolesOf(await chat.roles(chat_server_id), chat_server_id) }
  })

  async function known(id: number) {
    const row = await orgById(db, id)
    if (!row) throw notFound()
    return row
  }
}
