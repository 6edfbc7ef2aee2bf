import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { callerId, isBot } from './caller.ts'
import type { ChatDeps } from './deps.ts'
import { page, pageOf, Snowflake } from './page.ts'
import { refuse } from './refuse.ts'
import { shownMyGuild, shownSelf, shownUser } from './shapes.ts'

const MOST_GUILDS = 200
const MyGuilds = z.object(page(MOST_GUILDS, MOST_GUILDS))
const OneUser = z.object({ user_id: Snowflake })

/** Who asks, the guilds they are on, and for the bot any user. */
export function userRoutes(api: FastifyInstance, deps: ChatDeps) {
  const { world } = deps

  api.get('/users/@me', (req, reply) => {
    const userId = callerId(req, 'identify', deps)
    const user = world.users.find(({ id }) => id === userId)
    return user ? reply.send(shownSelf(user)) : refuse(reply, 'unauthorized')
  })

  api.get('/users/@me/guilds', (req, reply) => {
    const userId = callerId(req, 'guilds', deps)
    if (userId === undefined) return refuse(reply, 'unauthorized')
    const asked = MyGuilds.safeParse(req.query)
    if (!asked.success) return refuse(reply, 'invalid_form')
    const theirs = world.guilds.filter(({ members }) =>
      members.some((one) => one.userId === userId),
    )
    const shown = pageOf(theirs, ({ id }) => id, asked.data)
    return reply.send(shown.map((guild) => shownMyGuild(guild, userId)))
  })

  api.get('/users/:user_id', (req, reply) => {
    if (!isBot(req, deps)) return refuse(reply, 'unauthorized')
    const asked = OneUser.safeParse(req.params)
    if (!asked.success) return refuse(reply, 'invalid_form')
    const user = world.users.find(({ id }) => id === asked.data.user_id)
    return user ? reply.send(shownUser(user)) : refuse(reply, 'unknown_user')
  })
}
