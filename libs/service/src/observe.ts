import type { FastifyInstance } from 'fastify'
import { requestSeconds } from './metrics.ts'
import { inTrace, TRACEPARENT, type Trace, traceFrom } from './trace.ts'

declare module 'fastify' {
  interface FastifyRequest {
    trace: Trace
  }
}

/** Makes each request a step of a trace, and measures it. Its hooks must be the first of the app. */
export function observe(app: FastifyInstance, service: string) {
  app.decorateRequest('trace')
  app.addHook('onRequest', (req, _reply, done) => {
    req.trace = traceFrom(req.headers[TRACEPARENT])
    inTrace(req.trace, done)
  })
  // a body arrives outside of it
  app.addHook('preValidation', (req, _reply, done) => inTrace(req.trace, done))
  app.addHook('onResponse', async ({ method, routeOptions }, { statusCode, elapsedTime }) => {
    const labels = { service, method, route: routeOptions.url ?? '-', status: statusCode }
    requestSeconds.observe(labels, elapsedTime / 1000)
  })
}
