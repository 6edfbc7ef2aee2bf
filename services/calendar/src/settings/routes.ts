import { audit, enqueue } from '@guildhall/bus/outbox'
import {
  type CalendarSettings,
  calendarSettingsChanged,
  getCalendarSettings,
  putCalendarSettings,
} from '@guildhall/contracts/calendar'
import type { App } from '@guildhall/service/app'
import type { Deps } from '../deps.ts'
import { assign, putSettings, settingsOf, shownSettings } from './queries.ts'

const NONE: CalendarSettings = {
  notes_database_id: null,
  google_calendar_id: null,
  calendar_sync_enabled: false,
  last_sync_at: null,
}

export function settingsRoutes(app: App, { db, events, now }: Deps) {
  app.implement(getCalendarSettings, async ({ org }) => {
    const row = await settingsOf(db, org.id)
    return row ? shownSettings(row) : NONE
  })

  app.implement(putCalendarSettings, async ({ org, caller, body }, reply) => {
    const { made, ...row } = await db.transaction().execute(async (trx) => {
      const put = await putSettings(trx, org.id, body, now())
      if (caller.superadmin) await assign(trx, org.id, put)
      const { last_sync_at: _, ...said } = shownSettings(put)
      await enqueue(trx, audit(calendarSettingsChanged, caller, org, said))
      return put
    })
    events.expire(org.id)
    return reply.code(made ? 201 : 200).send(shownSettings(row))
  })
}
