import type { GoogleCalendars } from '../clients/google.ts'
import type { SettingsRow } from '../db.ts'
import type { Deps } from '../deps.ts'
import { keepMade } from '../settings/queries.ts'

/**
 * The calendar of the org; the first sync makes one. Its description holds a marker that was written down before, by which
 * one is found that a killed run has made. A calendar of the deployment's account is then the org's alone.
 */
export async function calendarIdOf(
  { db, config }: Pick<Deps, 'db' | 'config'>,
  org: { id: number; name: string },
  { settings, calendars, own }: { settings: SettingsRow; calendars: GoogleCalendars; own: boolean },
): Promise<string> {
  if (settings.google_calendar_id !== null) return settings.google_calendar_id
  const marker = settings.calendar_marker
  const id =
    (await calendars.find(marker)) ??
    (await calendars.create({
      summary: `${org.name} Events`,
      description: `Made by Guildhall (${marker}). Keep this line: by it the calendar is known.`,
      timeZone: config.TIMEZONE,
    }))
  return db.transaction().execute((trx) => keepMade(trx, org.id, { id, marker, assigned: !own }))
}
