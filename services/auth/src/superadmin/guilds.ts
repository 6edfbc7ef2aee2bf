import { listGuildRoles, listGuilds } from '@guildhall/contracts/superadmin'
import type { App } from '@guildhall/service/app'
import { AppError } from '@guildhall/service/errors'
import { pageOf } from '@guildhall/service/paging'
import { guildsOfBot, rolesOfGuild, unfitRole } from '../clients/guilds.ts'
import type { Role } from '../clients/shapes.ts'
import type { Deps } from '../deps.ts'
import { orgsOfServers } from '../orgs/queries.ts'

export function guildRoutes(app: App, { db, chat }: Deps) {
  app.implement(listGuilds, async ({ query: { limit, cursor } }) => {
    const asked = { limit, cursor, bound: 'superadmin guilds' }
    const { items, next_cursor } = await pageOf(asked, (page) => guildsOfBot(chat, page))
    const ids = items.map(({ id }) => id)
    const orgs = await orgsOfServers(db, ids)
    const orgOf = new Map(orgs.map(({ id, chat_server_id }) => [chat_server_id, id]))
    return {
      guilds: items.map(({ id, name }) => ({ id, name, org_id: orgOf.get(id) ?? null })),
      next_cursor,
    }
  })

  app.implement(listGuildRoles, async ({ params: { guild_id } }) => {
    const roles = await rolesOfGuild(chat, guild_id)
    if (!roles)
      throw new AppError('not_found', 'guild.not_found', 'The bot is not on such a chat server')
    const highestFirst = roles.toSorted((a, b) => b.position - a.position || (a.id < b.id ? -1 : 1))
    return { roles: highestFirst.map((role) => shownRole(role, guild_id)) }
  })
}

const shownRole = (role: Role, guildId: string) => ({
  id: role.id,
  name: role.name,
  color: `#${role.color.toString(16).padStart(6, '0')}`,
  position: role.position,
  may_be_officer_role: unfitRole(role, guildId) === undefined,
})
