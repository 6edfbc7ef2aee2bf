import type { FastifyInstance } from 'fastify'
import { requestSeconds } from './metrics.ts'
import { inTrace, TRACEPARENT, type Trace, type traceFrom } from './trace.ts'
import { traceStep } from './tracker.ts'

declare module 'fastify' {
  interface FastifyRequest {
    trace: Trace
  }
}

/** Makes each request a step of a trace, which `from` reads, and measures it. Its hooks must be the first of the app. */
export function observe(app: FastifyInstance, service: string, from: typeof traceFrom) {
  app.decorateRequest('trace')
  app.addHook('onRequest', (req, _reply, done) => {
    req.trace = from(req.headers[TRACEPARENT])
    inTrace(req.trace, done)
  })
  // a body arrives outside of it
  app.addHook('preValidation', (req, _reply, done) => inTrace(req.trace, done))
  app.addHook(
    'onResponse',
    async ({ method, routeOptions, trace }, { statusCode, elapsedTime }) => {
      const labels = { service, method, route: routeOptions.url ?? '-', status: statusCode }
      const seconds = elapsedTime / 1000
      requestSeconds.observe(labels, seconds)
      traceStep({ trace, name: `${method} ${labels.route}`, op: 'http.server', service, seconds })
    },
  )
}
