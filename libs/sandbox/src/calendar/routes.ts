import { randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { World } from '../world.ts'
import { type At, eventWrites, PATH, refuse } from './event-writes.ts'
import { createLimit } from './limit.ts'
import { Listed, NewCalendar } from './shapes.ts'
import { shownEvent } from './shown.ts'
import { isToken, tokenRoute } from './token.ts'

/** The calendar service (Google Calendar v3), as far as a service account makes calendars and writes their events. */
export function calendarRoutes(app: FastifyInstance, { world }: { world: World }) {
  const secret = randomBytes(32)
  tokenRoute(app, { world }, secret)
  const limit = createLimit()
  const preHandler = async (req: FastifyRequest, reply: FastifyReply) => {
    const { calendar, faults } = world
    calendar.requests.push(`${req.method} ${req.routeOptions.url?.slice(PATH.length)}`)
    if (!(await isToken(secret, req.headers.authorization))) return refuse(reply, 401, 'authError')
    if (faults.calendar === 'down') return refuse(reply, 503, 'backendError')
    if (!limit(calendar.perSecond)) return refuse(reply, 403, 'rateLimitExceeded')
    const left = faults.calendarWritesLeft
    if (left !== undefined && req.method !== 'GET') {
      if (left <= 0) return refuse(reply, 400, 'sandboxStopsHere')
      faults.calendarWritesLeft = left - 1
    }
    return undefined
  }
  const api = { preHandler }
  const calendarOf = ({ params }: FastifyRequest<At>) =>
    world.calendar.calendars.find(({ id }) => id === params.calendarId)

  app.get(`${PATH}/users/me/calendarList`, api, () => ({
    kind: 'calendar#calendarList',
    items: world.calendar.calendars.map(({ events: _, readOnly, ...calendar }) => ({
      ...calendar,
      kind: 'calendar#calendarListEntry',
      accessRole: readOnly ? 'reader' : 'owner',
    })),
  }))

  app.post(`${PATH}/calendars`, api, (req, reply) => {
    const made = NewCalendar.safeParse(req.body)
    if (!made.success) return refuse(reply, 400, 'required')
    const { timeZone = 'UTC', ...rest } = made.data
    const id = `${randomBytes(16).toString('hex')}@group.calendar.google.com`
    world.calendar.calendars.push({ ...rest, id, timeZone, events: new Map() })
    if (world.faults.calendar === 'fails_after_create') return refuse(reply, 500, 'backendError')
    return { kind: 'calendar#calendar', id, ...rest, timeZone }
  })

  app.get<At>(`${PATH}/calendars/:calendarId/events`, api, (req, reply) => {
    const calendar = calendarOf(req)
    const asked = Listed.safeParse(req.query)
    if (!calendar) return refuse(reply, 404, 'notFound')
    if (!asked.success) return refuse(reply, 400, 'badRequest')
    const { maxResults, pageToken } = asked.data
    const all = [...calendar.events.values()].filter(({ status }) => status !== 'cancelled')
    const from = Number(pageToken ?? 0)
    const more = all.length > from + maxResults
    return {
      kind: 'calendar#events',
      summary: calendar.summary,
      timeZone: calendar.timeZone,
      items: all.slice(from, from + maxResults).map((event) => shownEvent(calendar, event)),
      ...(more && { nextPageToken: String(from + maxResults) }),
    }
  })

  eventWrites(app, calendarOf, api)
}
