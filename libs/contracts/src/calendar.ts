import { z } from 'zod'
import { call } from './call.ts'
import { anyone, anyoneOrTool, anyPlatform, officer, officerOrTool } from './caller.ts'
import { audited } from './event.ts'
import { Instant, nextCursor, OrgIdParams, OrgParams, Paging } from './fields.ts'
import { job } from './job.ts'
import { Bytes, route } from './route.ts'

/** Events of a notes database, kept the same in a calendar (interface.md, Calendar; decisions.md § 6). */

/** The id of a notes database: 32 hex digits, with or without dashes, alone or in the link to it. Kept with dashes. */
const NotesDatabaseId = z
  .string()
  .trim()
  .max(500)
  .regex(
    /^(https:\/\/[^\s?#]*?)?[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}([?#].*)?$/i,
    'is no id of a notes database: take its 32 hex digits, or the link to it',
  )
  .transform(dashed)

function dashed(text: string): string {
  const [path = ''] = text.split(/[?#]/)
  const digits = path.replaceAll('-', '').slice(-32).toLowerCase()
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

const GoogleCalendarId = z
  .string()
  .trim()
  .regex(
    /^[\w.%+#@-]{1,254}$/,
    'is no calendar id: it stands in the settings of the calendar and looks like an email address',
  )

export const CalendarSettings = z
  .object({
    notes_database_id: z.string().nullable(),
    google_calendar_id: z.string().nullable().describe('null until the first sync makes one'),
    calendar_sync_enabled: z.boolean().describe('Synced by the schedule of the deployment too'),
    last_sync_at: Instant.nullable().describe('When the last sync succeeded'),
  })
  .meta({ id: 'CalendarSettings' })
export type CalendarSettings = z.output<typeof CalendarSettings>

export const getCalendarSettings = route({
  method: 'GET',
  url: '/api/organizations/:org_id/calendar',
  summary: 'Which notes database is kept the same in which calendar',
  owner: 'calendar',
  caller: officer,
  module: 'calendar',
  params: OrgIdParams,
  reply: { 200: CalendarSettings },
})

export const putCalendarSettings = route({
  method: 'PUT',
  url: '/api/organizations/:org_id/calendar',
  summary:
    "Set the notes database and the calendar. With the deployment's keys only the superadmin chooses them: what they set here is the org's",
  owner: 'calendar',
  caller: officer,
  module: 'calendar',
  params: OrgIdParams,
  body: z.object({
    notes_database_id: NotesDatabaseId.nullable(),
    calendar_sync_enabled: z.boolean(),
    google_calendar_id: GoogleCalendarId.nullable()
      .optional()
      .describe('Stays as it is where it is left out; with null the next sync makes one'),
  }),
  reply: { 200: CalendarSettings, 201: CalendarSettings },
})

const calendar = { owner: 'calendar', module: 'calendar', params: OrgParams } as const

const Skipped = z.object({
  page: z.string().describe('Id of the page of the notes'),
  title: z.string(),
  reason: z.string(),
})
export type Skipped = z.output<typeof Skipped>

/** What a sync did, as far as it came. */
const Counts = z.object({
  created: z.int(),
  updated: z.int(),
  deleted: z.int(),
  unchanged: z.int(),
  skipped: z.array(Skipped).describe('Pages that were left as they are, at most 1 000'),
})
export type Counts = z.output<typeof Counts>

export const CalendarRun = Counts.extend({
  run_id: z.uuid(),
  status: z.enum(['started', 'success', 'failed']),
  error: z.string().nullable(),
  code: z.string().nullable().describe('Of the error'),
  started_at: Instant,
  finished_at: Instant.nullable(),
}).meta({ id: 'CalendarRun' })
export type CalendarRun = z.output<typeof CalendarRun>

const Started = z.object({ status: z.literal('started'), run_id: z.uuid() })

export const syncCalendar = route({
  method: 'POST',
  url: '/api/calendar/:org/sync',
  summary: 'Make the calendar the same as the notes database',
  ...calendar,
  caller: officerOrTool('calendar:manage'),
  query: z.object({
    wait: z
      .stringbool()
      .default(false)
      .describe('Answer once it is over, or as for false where that takes longer than 25 s'),
    force: z
      .stringbool()
      .default(false)
      .describe('Delete events although more than half of the pages are gone'),
  }),
  reply: { 200: CalendarRun, 202: Started },
})

export const syncAllCalendars = route({
  method: 'POST',
  url: '/api/calendar/sync-all',
  summary: "Sync every org of the caller that has a notes database; of the superadmin's, all",
  owner: 'calendar',
  caller: anyPlatform,
  reply: {
    202: z.object({
      status: z.literal('started'),
      runs: z.array(z.object({ org: z.string(), run_id: z.uuid() })),
    }),
  },
})

export const listCalendarRuns = route({
  method: 'GET',
  url: '/api/calendar/:org/runs',
  summary: 'What became of the syncs of the last 90 days, newest first',
  ...calendar,
  caller: officer,
  query: Paging,
  reply: { 200: z.object({ runs: z.array(CalendarRun), next_cursor: nextCursor }) },
})

export const CalendarEvent = z
  .object({
    id: z.string(),
    title: z.string(),
    start: z.string().describe('YYYY-MM-DD of an event of whole days, else an instant'),
    end: z.string().describe('Of whole days the last of them, else an instant'),
    location: z.string().nullable(),
    description: z.string().nullable(),
    url: z.string().describe('The page of the notes'),
  })
  .meta({ id: 'CalendarEvent' })
export type CalendarEvent = z.output<typeof CalendarEvent>

export const listEvents = route({
  method: 'GET',
  url: '/api/calendar/:org/events',
  summary: 'Upcoming events from the notes database, at most 5 minutes old',
  ...calendar,
  caller: anyoneOrTool('calendar:read'),
  query: z.object({
    from: Instant.optional().describe('Events that end after this; now where it is left out'),
    to: Instant.optional().describe('Events that start before this'),
  }),
  reply: {
    200: z.object({
      status: z.literal('success'),
      organization_id: z.int(),
      organization_name: z.string(),
      events: z.array(CalendarEvent),
      total_events: z.int(),
    }),
  },
})

export const getEventsFile = route({
  method: 'GET',
  url: '/api/calendar/:org/events.ics',
  summary: 'All events, past ones too, as a file that calendar programs subscribe to (RFC 5545)',
  ...calendar,
  caller: anyone,
  reply: { 200: Bytes },
})

export const findCalendarSettings = call({
  service: 'calendar',
  name: 'find_settings',
  summary: 'What an org has set for its calendar; null where nothing',
  callers: ['auth'],
  args: z.object({ org_id: z.int() }),
  reply: z.object({ settings: CalendarSettings.nullable() }),
})

export const syncOrg = job({
  name: 'calendar.sync',
  summary: 'Make the calendar of one org the same as its notes database',
  args: z.object({
    org_id: z.coerce.number<string | number>().int(),
    force: z.union([z.boolean(), z.stringbool()]).default(false),
  }),
  attempts: 5,
  concurrency: 4,
  audited: true,
})

/** When it runs by itself is the deployment's choice: ops reads CALENDAR_SYNC_CRON. */
export const syncAllOrgs = job({
  name: 'calendar.sync_all',
  summary: 'Sync every org that has calendar_sync_enabled',
  args: z.object({}),
  attempts: 5,
  concurrency: 1,
  audited: true,
})

export const calendarSettingsChanged = audited(
  'calendar.settings.changed',
  z.object({
    notes_database_id: z.string().nullable(),
    google_calendar_id: z.string().nullable(),
    calendar_sync_enabled: z.boolean(),
  }),
)
export const calendarSyncStarted = audited(
  'calendar.sync.started',
  z.object({ run_id: z.uuid(), force: z.boolean() }),
)
