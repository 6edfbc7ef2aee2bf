import type { IncomingMessage, ServerResponse } from 'node:http'
import { MEBIBYTE } from '@guildhall/contracts/route'
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify'

/** The largest body of any contract, and some more for what was on the way. */
const MOST_BYTES = 128 * MEBIBYTE
/** As nginx's lingering_time. */
const MOST_MS = 30_000
const LOOK_EVERY_MS = 250

type AnyApp = FastifyInstance<RawServerDefault, IncomingMessage, ServerResponse, FastifyBaseLogger>

/**
 * Lets an answer that comes before the end of the request's body reach the client: what is left of the
 * body is read and dropped, up to 128 MB and 30 seconds. To close at once would reset the connection, and a
 * client that still sends would never read why. Then, or when the process stops, the connection is cut.
 */
export function lingers(app: AnyApp) {
  app.addHook('onSend', async ({ raw: req }, reply, payload) => {
    if (req.complete !== false) return payload
    const closes = !reply.raw.shouldKeepAlive || reply.getHeader('connection') === 'close'
    reply.removeHeader('connection') // Node closes at once where it says so
    reply.raw.shouldKeepAlive = true
    reply.raw.once('finish', () => dropRest(app, req, closes))
    return payload
  })
}

function dropRest({ server }: AnyApp, req: IncomingMessage, closes: boolean) {
  const { socket } = req
  const [end, most] = [performance.now() + MOST_MS, socket.bytesRead + MOST_BYTES]
  const timer = setInterval(() => {
    const isOver = performance.now() > end || socket.bytesRead > most
    if (isOver || !server.listening) socket.destroy()
  }, LOOK_EVERY_MS).unref()
  req.once('close', () => {
    clearInterval(timer)
    if (closes) socket.end()
  })
  req.unpipe().resume()
}
