import type { FastifyRequest } from 'fastify'
import type { ChatDeps } from './deps.ts'

/** Whether the request carries the bot's token. */
export const isBot = ({ headers }: FastifyRequest, { world }: ChatDeps) =>
  headers.authorization === `Bot ${world.application.botToken}`

/** Who asks, where they may use this scope: the bot always, a person where they agreed to it. Else nothing. */
export function callerId(req: FastifyRequest, scope: string, deps: ChatDeps): string | undefined {
  if (isBot(req, deps)) return deps.world.application.botId
  const token = /^Bearer (.+)$/.exec(req.headers.authorization ?? '')?.[1]
  const agreed = token === undefined ? undefined : deps.grants.find(token)
  return agreed?.scope.split(' ').includes(scope) ? agreed.userId : undefined
}
