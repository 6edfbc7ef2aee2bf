import { gunzipSync } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import type { World } from '../world.ts'

/** An error tracker that takes Sentry's envelopes (develop.sentry.dev/sdk/data-model/envelopes) and keeps their items. */
export function trackerRoutes(app: FastifyInstance, { world }: { world: World }) {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_req, body, done) => done(null, body))
    scope.post('/tracker/api/:project/envelope/', (req, reply) => {
      const bytes = req.body as Buffer
      const text = (
        req.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes
      ).toString()
      const [, ...lines] = text.trimEnd().split('\n')
      const items: { type: string; payload: unknown }[] = []
      for (let n = 0; n + 1 < lines.length; n += 2) {
        const { type } = JSON.parse(lines[n] ?? '{}') as { type: string }
        items.push({ type, payload: JSON.parse(lines[n + 1] ?? 'null') })
      }
      world.tracked = [...(world.tracked ?? []), ...items]
      return reply.send({})
    })
  })
}
