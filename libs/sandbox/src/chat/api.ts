import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { commandRoutes } from './commands.ts'
import type { ChatDeps } from './deps.ts'
import { openGateway } from './gateway.ts'
import { guildRoutes } from './guilds.ts'
import { createInteractions } from './interactions.ts'
import { createLimits, refuseLimited } from './limits.ts'
import { refuse } from './refuse.ts'
import { tokenRoute } from './tokens.ts'
import { typedRoute } from './typed.ts'
import { userRoutes } from './users.ts'

/** How late a slow platform answers. */
export const SLOW_MS = 10_000
const PREFIX = '/chat/api/v10'

/** The part of Discord's REST API v10 that Guildhall uses. `asked` counts the requests of each route. */
export function chatApi(app: FastifyInstance, deps: ChatDeps, asked: Map<string, number>) {
  const { world } = deps
  const gateway = openGateway(app, deps)
  const interactions = createInteractions({ world, gateway })
  const limit = createLimits(world)
  typedRoute(app, { gateway, interactions })
  app.register(
    async (api) => {
      api.addHook('onRequest', beginAnswer)
      api.setNotFoundHandler((_req, reply) => refuse(reply, 'not_found'))
      api.setErrorHandler((error, _req, reply) => {
        if ((error as { statusCode?: number }).statusCode === undefined) throw error
        return refuse(reply, 'bad_request')
      })
      tokenRoute(api, deps)
      userRoutes(api, deps)
      guildRoutes(api, deps)
      commandRoutes(api, { ...deps, gateway, interactions })
    },
    { prefix: PREFIX },
  )
  return { gateway, interactions }

  /** Counts, limits, and answers at once where the world says so. */
  async function beginAnswer(req: FastifyRequest, reply: FastifyReply) {
    const route = `${req.method} ${req.routeOptions.url?.replace(PREFIX, '')}`
    asked.set(route, (asked.get(route) ?? 0) + 1)
    const limited = limit(req, reply)
    if (world.faults.chat === 'slow') await wait(SLOW_MS, undefined, { ref: false })
    if (world.faults.chat === 'down') return refuse(reply, 'down')
    return limited && refuseLimited(reply, limited.waitSeconds)
  }
}
