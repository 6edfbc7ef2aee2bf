import { randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify'
import { EventPatch, endsAfter, NewEvent } from './shapes.ts'
import { shownEvent } from './shown.ts'
import type { SandboxCalendar, SandboxEvent } from './world.ts'

export const PATH = '/calendar/v3'
export type At = { Params: { calendarId: string; eventId: string } }
type Times = Pick<SandboxEvent, 'start' | 'end'>

/** What changes events. */
export function eventWrites(
  app: FastifyInstance,
  calendarOf: (req: FastifyRequest<At>) => SandboxCalendar | undefined,
  api: RouteShorthandOptions,
) {
  app.post<At>(`${PATH}/calendars/:calendarId/events`, api, (req, reply) => {
    const calendar = calendarOf(req)
    if (!calendar || calendar.readOnly) return refuse(reply, calendar ? 403 : 404, 'notFound')
    const sent = NewEvent.safeParse(req.body)
    if (!sent.success) return refuse(reply, 400, 'invalid')
    const { id = randomBytes(13).toString('hex'), ...fields } = sent.data
    if (calendar.events.has(id)) return refuse(reply, 409, 'duplicate')
    const at = new Date().toISOString()
    return keep(calendar, {
      status: 'confirmed',
      ...(fields as Times),
      id,
      created: at,
      updated: at,
    })
  })

  app.patch<At>(`${PATH}/calendars/:calendarId/events/:eventId`, api, (req, reply) => {
    const calendar = calendarOf(req)
    const event = calendar?.events.get(req.params.eventId)
    if (!calendar || !event) return refuse(reply, 404, 'notFound')
    if (calendar.readOnly) return refuse(reply, 403, 'forbidden')
    const patch = EventPatch.safeParse(req.body)
    if (!patch.success) return refuse(reply, 400, 'invalid')
    const fields = patch.data as Partial<SandboxEvent>
    const patched = { ...event, ...fields, updated: new Date().toISOString() }
    if (!endsAfter(patched)) return refuse(reply, 400, 'timeRangeEmpty')
    return keep(calendar, patched)
  })

  app.delete<At>(`${PATH}/calendars/:calendarId/events/:eventId`, api, (req, reply) => {
    const calendar = calendarOf(req)
    const event = calendar?.events.get(req.params.eventId)
    if (!calendar || !event) return refuse(reply, 404, 'notFound')
    if (calendar.readOnly) return refuse(reply, 403, 'forbidden')
    if (event.status === 'cancelled') return refuse(reply, 410, 'deleted')
    calendar.events.set(event.id, { ...event, status: 'cancelled' })
    return reply.code(204).send()
  })
}

function keep(calendar: SandboxCalendar, event: SandboxEvent) {
  calendar.events.set(event.id, event)
  return shownEvent(calendar, event)
}

/** A refusal as the calendar service words it. */
export const refuse = (reply: FastifyReply, code: number, reason: string) =>
  reply.code(code).send({
    error: { code, message: reason, errors: [{ domain: 'calendar', reason, message: reason }] },
  })
