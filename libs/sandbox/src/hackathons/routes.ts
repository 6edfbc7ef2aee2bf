import type { FastifyInstance } from 'fastify'
import type { World } from '../world.ts'

/** The sources of hackathons: whatever the world says that they answer. */
export function hackathonRoutes(app: FastifyInstance, { world }: { world: World }) {
  app.get<{ Params: { '*': string } }>('/hackathons/*', (req, reply) => {
    const answer = world.hackathons?.[req.params['*']]
    if (answer === undefined) return reply.code(404).send({ error: 'Not found' })
    if (typeof answer === 'number') return reply.code(answer).send({ error: 'fault' })
    return reply.send(answer)
  })
}
