import type { FastifyInstance, FastifyReply } from 'fastify'
import { z } from 'zod'
import type { Guild } from '../world.ts'
import { isBot } from './caller.ts'
import type { ChatDeps } from './deps.ts'
import { page, pageOf, Snowflake } from './page.ts'
import { refuse } from './refuse.ts'
import { shownGuild, shownMember, shownRole } from './shapes.ts'

const MOST_MEMBERS = 1000
const OneGuild = z.object({ guild_id: Snowflake })
const OneMember = OneGuild.extend({ user_id: Snowflake })
const Members = OneGuild.extend(page(MOST_MEMBERS, 1))
const Search = OneGuild.extend({
  query: z.string().min(1).max(100),
  limit: z.coerce.number().int().min(1).max(MOST_MEMBERS).default(1),
})

/** What the bot reads of the guilds that it is on. */
export function guildRoutes(api: FastifyInstance, deps: ChatDeps) {
  const { world } = deps
  const route = guildRoute(api, deps)

  route('/guilds/:guild_id', OneGuild, (guild, _asked, reply) => reply.send(shownGuild(guild)))

  route('/guilds/:guild_id/roles', OneGuild, ({ roles }, _asked, reply) =>
    reply.send(roles.map(shownRole)),
  )

  route('/guilds/:guild_id/members', Members, ({ members }, asked, reply) => {
    if (world.faults.chatMembersIntent === 'off') return refuse(reply, 'missing_access')
    const shown = pageOf(members, ({ userId }) => userId, asked)
    return reply.send(shown.flatMap((member) => shownMember(member, world) ?? []))
  })

  route('/guilds/:guild_id/members/search', Search, ({ members }, { query, limit }, reply) => {
    const start = query.toLowerCase()
    const found = members
      .flatMap((member) => shownMember(member, world) ?? [])
      .filter(({ nick, user: { username, global_name } }) =>
        [nick, username, global_name].some((name) => name?.toLowerCase().startsWith(start)),
      )
    return reply.send(found.slice(0, limit))
  })

  route('/guilds/:guild_id/members/:user_id', OneMember, ({ members }, { user_id }, reply) => {
    if (world.users.every(({ id }) => id !== user_id)) return refuse(reply, 'unknown_user')
    const member = members.find(({ userId }) => userId === user_id)
    const shown = member && shownMember(member, world)
    return shown ? reply.send(shown) : refuse(reply, 'unknown_member')
  })
}

/** Registers routes about one guild. A guild that is not there is unknown, one without the bot out of its reach. */
function guildRoute(api: FastifyInstance, deps: ChatDeps) {
  return <S extends typeof OneGuild>(
    path: string,
    Asked: S,
    answer: (guild: Guild, asked: z.output<S>, reply: FastifyReply) => FastifyReply,
  ) =>
    api.get(path, (req, reply) => {
      if (!isBot(req, deps)) return refuse(reply, 'unauthorized')
      const asked = Asked.safeParse({ ...(req.query as object), ...(req.params as object) })
      if (!asked.success) return refuse(reply, 'invalid_form')
      const { guilds, application } = deps.world
      const guild = guilds.find(({ id }) => id === asked.data.guild_id)
      if (!guild) return refuse(reply, 'unknown_guild')
      const hasBot = guild.members.some(({ userId }) => userId === application.botId)
      return hasBot ? answer(guild, asked.data, reply) : refuse(reply, 'missing_access')
    })
}
