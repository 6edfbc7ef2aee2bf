import type { FastifyInstance } from 'fastify'
import { registry } from './metrics.ts'

/** What a process waits for before it can serve: each check is empty when all is well, else says what is missing. */
export type Readiness = Record<string, () => Promise<string | undefined>>

/** `/health` (it lives), `/ready` (it can serve; 503 says what is missing) and `/metrics` (Prometheus text). */
export function addProbes(app: FastifyInstance, ready: Readiness) {
  app.get('/health', async () => ({ status: 'ok' }))
  addReady(app, ready)
  app.get('/metrics', async (_req, reply) => {
    reply.header('content-type', registry.contentType)
    return registry.metrics()
  })
}

/** `/ready`: 200, or 503 with what is missing. */
export function addReady(app: FastifyInstance, ready: Readiness) {
  app.get('/ready', async (_req, reply) => {
    const missing = await missingParts(ready)
    const status = missing.length === 0 ? 'ready' : 'waiting'
    return reply.code(missing.length === 0 ? 200 : 503).send({ status, missing })
  })
}

/** What every check that fails has to say. */
export async function missingParts(ready: Readiness): Promise<string[]> {
  const said = await Promise.all(
    Object.entries(ready).map(async ([name, check]) => {
      const reason = await check().catch((error: Error) => error.message)
      return reason && `${name}: ${reason}`
    }),
  )
  return said.filter((reason) => reason !== undefined && reason !== '') as string[]
}
