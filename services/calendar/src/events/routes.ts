import { Readable } from 'node:stream'
import { getEventsFile, listEvents } from '@guildhall/contracts/calendar'
import type { App } from '@guildhall/service/app'
import type { Deps } from '../deps.ts'
import { settingsOf } from '../settings/queries.ts'
import { fileOf } from './file.ts'
import { overlapping, shownEvent } from './rules.ts'

export function eventRoutes(app: App, { db, events, config, now }: Deps) {
  const eventsOf = async (orgId: number) => events.of(await settingsOf(db, orgId))

  app.implement(listEvents, async ({ org, query }) => {
    const from = query.from === undefined ? now() : new Date(query.from)
    const to = query.to === undefined ? undefined : new Date(query.to)
    const found = overlapping(await eventsOf(org.id), { from, to, timeZone: config.TIMEZONE })
    return {
      status: 'success' as const,
      organization_id: org.id,
      organization_name: org.name,
      events: found.map(shownEvent),
      total_events: found.length,
    }
  })

  app.implement(getEventsFile, async ({ org }, reply) => {
    const text = fileOf(`${org.name} Events`, await eventsOf(org.id))
    return reply
      .header('content-type', 'text/calendar; charset=utf-8')
      .header('content-disposition', `inline; filename="${org.prefix}.ics"`)
      .code(200)
      .send(Readable.from([Buffer.from(text)]))
  })
}
