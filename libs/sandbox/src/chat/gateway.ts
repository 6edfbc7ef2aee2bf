import type { FastifyInstance } from 'fastify'
import { type WebSocket, WebSocketServer } from 'ws'
import { z } from 'zod'
import type { World } from '../world.ts'
import { createSessions, Identify, OP, Resume, type Session, send } from './gateway-sessions.ts'

const PATH = '/chat/gateway'
const HEARTBEAT_MS = 41_250
/** Of Discord's close codes (its reference, Opcodes and Status Codes). */
const CLOSE = { unknown: 4000, opcode: 4001, decode: 4002, authentication: 4004 }

const Sent = z.object({ op: z.int(), d: z.unknown() })

export type Gateway = ReturnType<typeof openGateway>

/** Discord's gateway: heartbeats, sessions, and the events that the sandbox dispatches. JSON, not compressed. */
export function openGateway(app: FastifyInstance, { world }: { world: World }) {
  const server = new WebSocketServer({ noServer: true })
  const url = () => `${app.listeningOrigin.replace(/^http/, 'ws')}${PATH}`
  const sessions = createSessions(world, url)

  app.server.on('upgrade', (req, socket, head) => {
    const isOurs = req.url?.startsWith(PATH) && world.faults.chat !== 'down'
    const { origin = app.listeningOrigin } = req.headers // a bot names none, a web page its own
    if (!isOurs || origin !== app.listeningOrigin) return socket.destroy()
    return server.handleUpgrade(req, socket, head, (opened) => welcome(opened))
  })
  app.addHook('preClose', async () => {
    for (const socket of server.clients) socket.terminate()
  })

  function welcome(socket: WebSocket) {
    let session: Session | undefined
    const handlers: Record<number, (d: unknown) => void> = {
      [OP.heartbeat]: () => send(socket, { op: OP.heartbeat_ack }),
      [OP.identify](d) {
        const { data } = Identify.safeParse(d)
        if (!data) return socket.close(CLOSE.decode)
        session = sessions.identify(socket, data)
        if (!session) socket.close(CLOSE.authentication)
      },
      [OP.resume](d) {
        const { data } = Resume.safeParse(d)
        if (!data) return socket.close(CLOSE.decode)
        session = sessions.resume(socket, data)
        if (!session) send(socket, { op: OP.invalid_session, d: false })
      },
    }
    socket.on('message', (data) => {
      const { data: said } = Sent.safeParse(parsed(String(data)))
      if (!said) return socket.close(CLOSE.decode)
      const handle = handlers[said.op]
      return handle ? handle(said.d) : socket.close(CLOSE.opcode)
    })
    socket.on('error', () => socket.terminate())
    socket.on('close', () => {
      if (session?.socket === socket) session.socket = undefined
    })
    send(socket, { op: OP.hello, d: { heartbeat_interval: HEARTBEAT_MS } })
  }

  return {
    ...sessions,
    url,
    /** Ends every connection, as the platform does now and then; sessions may be resumed. */
    drop(code = CLOSE.unknown) {
      for (const socket of server.clients) socket.close(code)
    },
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
