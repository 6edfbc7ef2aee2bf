import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Gateway } from './gateway.ts'
import type { Interactions } from './interactions.ts'
import { Snowflake } from './page.ts'

const Body = z.strictObject({
  guildId: Snowflake,
  userId: Snowflake,
  name: z.string(),
  options: z.record(z.string(), z.string()).default({}),
})

/** `POST /chat/commands` types a command of the bot as somebody; answers what the bot said and the interaction's token. */
export function typedRoute(
  app: FastifyInstance,
  { gateway, interactions }: { gateway: Gateway; interactions: Interactions },
) {
  app.post('/chat/commands', async (req, reply) => {
    const { data, error } = Body.safeParse(req.body)
    if (!data) return reply.code(400).send({ error: z.prettifyError(error) })
    if (gateway.connected() === 0) return reply.code(503).send({ error: 'No bot is connected' })
    const { token, answered } = interactions.type(data)
    const said = await answered.catch((late: Error) => late)
    if (said instanceof Error) return reply.code(504).send({ token, error: said.message })
    return reply.send({ token, content: said.content, ephemeral: said.ephemeral })
  })
}
