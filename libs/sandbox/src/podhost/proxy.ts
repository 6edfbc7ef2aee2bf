import type { FastifyInstance } from 'fastify'
import type { World } from '../world.ts'
import { stateOf } from './life.ts'
import type { Pods } from './pods.ts'

/**
 * The pod host's proxy to HTTP ports of pods. Images do not run here: a pod that runs and lists the port
 * answers 200, or the world's `appStatus`.
 */
export function proxyRoutes(app: FastifyInstance, { world, pods }: { world: World; pods: Pods }) {
  app.get<{ Params: { pod: string; port: string } }>(
    '/podhost/proxy/:pod/:port/*',
    (req, reply) => {
      const { pod: id, port } = req.params
      const pod = pods.byId(id)
      const open = pod?.record.config.ports.includes(`${port}/http`)
      if (!pod || !open || stateOf(pod) !== 'RUNNING') return reply.code(404).send()
      const status = world.faults.appStatus ?? 200
      return reply.code(status).type('text/plain').send(`${pod.record.config.image}\n`)
    },
  )
}
