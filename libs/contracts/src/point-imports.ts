import { z } from 'zod'
import { officer, officerOrTool } from './caller.ts'
import { audited } from './event.ts'
import { OrgParams, OrgPrefix } from './fields.ts'
import { job } from './job.ts'
import { EventName, MOST_POINTS } from './points.ts'
import { FileParts, MEBIBYTE, route } from './route.ts'

/** Points for whoever stands in an attendance file (decisions.md § 5). */

/** Longest attendance file, and the most rows that one may have. */
export const MOST_FILE_BYTES = 2 * MEBIBYTE
export const MOST_ROWS = 20_000
/** Longest text of a file in a request of JSON: what a request may have, less its other fields. */
const MOST_TEXT_CHARS = MEBIBYTE - 64 * 1024
/** Longest text that a job may carry along, in bytes of JSON; a job's arguments are at most 64 KiB. */
const MOST_SENT_BYTES = 60_000
/** Rows that cannot be used and are named. */
export const MOST_NAMED_ROWS = 100

const EventPoints = z.coerce.number<string>().int().min(1).max(MOST_POINTS)

export const uploadEventCsv = route({
  method: 'POST',
  url: '/api/points/:org/uploadEventCSV',
  summary: 'Award an event to whoever its attendance file says was checked in',
  owner: 'store',
  caller: officer,
  module: 'points',
  params: OrgParams,
  body: z.object({
    file: FileParts.describe('CSV with the columns Email, First Name, Last Name, Checked-In Date'),
    event_name: EventName,
    event_points: EventPoints,
  }),
  form: { field: 'file', files: 1, maxFileBytes: MOST_FILE_BYTES },
  maxBytes: MOST_FILE_BYTES + MEBIBYTE,
  reply: { 202: z.object({ job_id: z.uuid() }) },
})

const BadRows = z.object({
  errors: z
    .array(z.object({ row: z.int().describe('Line of the file'), reason: z.string() }))
    .max(MOST_NAMED_ROWS)
    .describe(`The first ${MOST_NAMED_ROWS} rows that cannot be used`),
  errors_total: z.int().describe('All rows that cannot be used'),
})

export const importPoints = route({
  method: 'POST',
  url: '/api/points/:org/imports',
  summary: 'Award an event to whoever the text of an attendance file says was checked in',
  owner: 'store',
  caller: officerOrTool('points:write'),
  module: 'points',
  params: OrgParams,
  body: z.object({
    event_name: EventName,
    event_points: z.int().min(1).max(MOST_POINTS),
    file_content: z
      .string()
      .max(MOST_TEXT_CHARS)
      .describe('CSV with the columns Email, First Name, Last Name, Checked-In Date'),
    dry_run: z.boolean().default(false).describe('Only reads the file, and awards nothing'),
  }),
  reply: {
    200: BadRows.extend({
      attended: z.int().describe('Emails that would be awarded, unless they have been before'),
      skipped: z.int().describe('Not checked in, or twice in the file'),
    }),
    202: z.object({ job_id: z.uuid() }),
  },
})

export const ImportResult = BadRows.extend({
  awarded: z.int(),
  skipped: z.int().describe('Not checked in, twice in the file, or awarded before'),
  created: z.int().describe('Members that the org did not know'),
}).meta({ id: 'ImportResult' })
export type ImportResult = z.output<typeof ImportResult>

export const getImport = route({
  method: 'GET',
  url: '/api/points/:org/imports/:job_id',
  summary: 'How an import of points stands, and what became of it',
  owner: 'store',
  caller: officer,
  module: 'points',
  params: OrgParams.extend({ job_id: z.uuid() }),
  reply: { 200: ImportResult.extend({ state: z.enum(['queued', 'done', 'failed']) }) },
})

/** What an officer uploaded is a row under the id of the run; the operator sends it along. */
export const ImportArgs = z.object({
  org_prefix: OrgPrefix,
  event_name: EventName,
  event_points: z.union([EventPoints, z.int().min(1).max(MOST_POINTS)]),
  file_content: z
    .string()
    .refine(
      (text) => new TextEncoder().encode(JSON.stringify(text)).length <= MOST_SENT_BYTES,
      `is longer than ${MOST_SENT_BYTES} bytes: an officer uploads longer files (POST /api/points/<org>/uploadEventCSV), or split it`,
    ),
})
export const importEventCsv = job({
  name: 'points.import_event_csv',
  owner: 'store',
  summary: 'Award an event to whoever an attendance file of up to 60 kB says was checked in',
  args: ImportArgs.partial().extend({
    org_id: z.int().optional().describe('Of what an officer uploaded'),
  }),
  attempts: 5,
  concurrency: 2,
  audited: true,
  once: 'The file of an import that failed is deleted; send the file again',
})

export const pointsImported = audited(
  'store.points.imported',
  z.object({ import_id: z.uuid(), awarded: z.int(), created: z.int() }),
)
