import type { CalendarSettings } from '@guildhall/contracts/calendar'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import { sql } from 'kysely'
import type { Db, SettingsRow, Trx } from '../db.ts'

/** What an officer sends; `google_calendar_id` stays as it is where it is undefined. */
export interface Wanted {
  notes_database_id: string | null
  calendar_sync_enabled: boolean
  google_calendar_id?: string | null | undefined
}

export const settingsOf = (db: Db, orgId: number) =>
  db.selectFrom('settings').selectAll().where('org_id', '=', orgId).executeTakeFirst()

/** Makes or changes the settings; `made` is false where there were some. */
export function putSettings(trx: Trx, org_id: number, wanted: Wanted, now: Date) {
  const { google_calendar_id, ...rest } = wanted
  const row = { ...rest, updated_at: now }
  // a calendar that is to be made then is not the one that was given up
  const afterGivenUp = sql<string>`case when settings.google_calendar_id is null
    then settings.calendar_marker else ${newId()}::uuid end`
  return trx
    .insertInto('settings')
    .values({
      ...row,
      org_id,
      google_calendar_id: google_calendar_id ?? null,
      calendar_marker: newId(),
      last_sync_at: null,
    })
    .onConflict((on) =>
      on.column('org_id').doUpdateSet({
        ...row,
        ...(google_calendar_id !== undefined && { google_calendar_id }),
        ...(google_calendar_id === null && { calendar_marker: afterGivenUp }),
      }),
    )
    .returningAll()
    .returning(sql<boolean>`xmax = 0`.as('made')) // zero in a row that no update has touched
    .executeTakeFirstOrThrow()
}

/**
 * Makes what the superadmin chose the org's, in place of what was before. Throws `calendar.assigned_elsewhere` for what
 * another org has.
 */
export async function assign(trx: Trx, orgId: number, row: SettingsRow): Promise<void> {
  const chosen = { notes: row.notes_database_id, calendar: row.google_calendar_id }
  for (const kind of ['notes', 'calendar'] as const) {
    await trx
      .deleteFrom('assignments')
      .where('org_id', '=', orgId)
      .where('kind', '=', kind)
      .where('outside_id', 'is distinct from', chosen[kind])
      .execute()
    if (chosen[kind] !== null) await assignOne(trx, orgId, kind, chosen[kind])
  }
}

export async function assignOne(
  trx: Trx,
  org_id: number,
  kind: 'notes' | 'calendar',
  outside_id: string,
): Promise<void> {
  const row = await trx
    .insertInto('assignments')
    .values({ kind, outside_id, org_id })
    .onConflict((on) =>
      on
        .columns(['kind', 'outside_id'])
        .doUpdateSet({ outside_id })
        .where('assignments.org_id', '=', org_id),
    )
    .returning('org_id')
    .executeTakeFirst()
  if (!row) throw assignedElsewhere(kind)
}

/** True where the superadmin gave it to the org. */
export async function isAssigned(
  db: Db,
  org_id: number,
  kind: 'notes' | 'calendar',
  outside_id: string,
): Promise<boolean> {
  const row = await db
    .selectFrom('assignments')
    .select('org_id')
    .where('kind', '=', kind)
    .where('outside_id', '=', outside_id)
    .where('org_id', '=', org_id)
    .executeTakeFirst()
  return row !== undefined
}

/** Keeps the calendar that a sync made, unless one was set meanwhile; answers the one that counts. */
export async function keepMade(
  trx: Trx,
  orgId: number,
  made: { id: string; marker: string; assigned: boolean },
): Promise<string> {
  const kept = await trx
    .updateTable('settings')
    .set({ google_calendar_id: made.id })
    .where('org_id', '=', orgId)
    .where('google_calendar_id', 'is', null)
    .where('calendar_marker', '=', made.marker)
    .returning('google_calendar_id')
    .executeTakeFirst()
  if (!kept) throw changedMeanwhile()
  if (made.assigned) await assignOne(trx, orgId, 'calendar', made.id)
  return made.id
}

export const shownSettings = (row: SettingsRow): CalendarSettings => ({
  notes_database_id: row.notes_database_id,
  google_calendar_id: row.google_calendar_id,
  calendar_sync_enabled: row.calendar_sync_enabled,
  last_sync_at: row.last_sync_at?.toISOString() ?? null,
})

const assignedElsewhere = (kind: 'notes' | 'calendar') =>
  new AppError(
    'conflict',
    'calendar.assigned_elsewhere',
    `Another org has this ${kind === 'notes' ? 'notes database' : 'calendar'}; set another one there first`,
  )
const changedMeanwhile = () =>
  new AppError(
    'conflict',
    'calendar.changed',
    'The settings of the calendar were changed during the sync; sync again',
  )
