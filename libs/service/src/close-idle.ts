import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify'

type AnyApp = FastifyInstance<RawServerDefault, IncomingMessage, ServerResponse, FastifyBaseLogger>

/**
 * Ends a connection whose request was under way when the app began to close as soon as that is answered. Node would keep
 * it for a next request, and the end of the app would wait for it longer than a process may take.
 */
export function closesIdle(app: AnyApp) {
  app.addHook('onResponse', async ({ raw: req }) => {
    // one that still sends its body is cut off by linger.ts
    if (!app.server.listening && req.complete) req.socket.destroySoon()
  })
}
