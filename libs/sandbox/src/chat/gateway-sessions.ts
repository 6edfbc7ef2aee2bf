import { randomUUID } from 'node:crypto'
import { WebSocket } from 'ws'
import { z } from 'zod'
import type { World } from '../world.ts'
import { shownBotGuild, shownReady } from './gateway-shapes.ts'

/** Discord's opcodes, as far as they come up (its reference, Opcodes and Status Codes). */
export const OP = {
  dispatch: 0,
  heartbeat: 1,
  identify: 2,
  resume: 6,
  invalid_session: 9,
  hello: 10,
  heartbeat_ack: 11,
}

export const Identify = z.object({ token: z.string(), intents: z.int() })
export const Resume = z.object({ token: z.string(), session_id: z.string(), seq: z.int() })

export interface Session {
  id: string
  /** All that was dispatched; the number of an event is its place here, from 1. */
  events: { t: string; d: object }[]
  socket: WebSocket | undefined
}

/** The sessions of the bot: what was dispatched to each, and where it is connected. */
export function createSessions(world: World, url: () => string) {
  const sessions = new Map<string, Session>()
  const counts = { identified: 0, resumed: 0 }
  const isBots = (token: string) => token === world.application.botToken

  return {
    counts,

    /** A new session, told of every guild of the bot; nothing for another token. */
    identify(socket: WebSocket, { token }: z.output<typeof Identify>): Session | undefined {
      if (!isBots(token)) return undefined
      counts.identified++
      const session: Session = { id: randomUUID(), events: [], socket }
      sessions.set(session.id, session)
      const guilds = world.guilds.filter(({ members }) =>
        members.some(({ userId }) => userId === world.application.botId),
      )
      tell(session, 'READY', shownReady(world, { session: session.id, guilds, url: url() }))
      for (const guild of guilds) tell(session, 'GUILD_CREATE', shownBotGuild(guild, world))
      return session
    },

    /** The session with what it missed; nothing where it is not known. */
    resume(
      socket: WebSocket,
      { token, session_id, seq }: z.output<typeof Resume>,
    ): Session | undefined {
      const session = isBots(token) ? sessions.get(session_id) : undefined
      if (!session || seq > session.events.length) return undefined
      counts.resumed++
      session.socket = socket
      for (const [n, event] of session.events.entries())
        if (n >= seq) send(socket, { op: OP.dispatch, s: n + 1, ...event })
      tell(session, 'RESUMED', {})
      return session
    },

    /** Sends an event to every session; one whose connection is gone hears it when it resumes. */
    dispatch(t: string, d: object) {
      for (const session of sessions.values()) tell(session, t, d)
    },
    /** Forgets every session: who resumes is told to identify anew. */
    forget: () => sessions.clear(),
    /** How many sessions have a connection. */
    connected: () => [...sessions.values()].filter(({ socket }) => socket !== undefined).length,
  }
}

function tell(session: Session, t: string, d: object) {
  session.events.push({ t, d })
  if (session.socket) send(session.socket, { op: OP.dispatch, s: session.events.length, t, d })
}

export function send(socket: WebSocket, payload: object) {
  if (socket.readyState === WebSocket.OPEN)
    socket.send(JSON.stringify({ d: null, s: null, t: null, ...payload }))
}
