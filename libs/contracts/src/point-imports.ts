import { z } from 'zod'
import { officer } from './caller.ts'
import { audited } from './event.ts'
import { OrgParams, OrgPrefix } from './fields.ts'
import { job } from './job.ts'
import { EventName, MOST_POINTS } from './points.ts'
import { FileParts, MEBIBYTE, route } from './route.ts'

/** Points for whoever stands in an attendance file (decisions.md § 5). */

/** Longest attendance file, and the most rows that one may have. */
export const MOST_FILE_BYTES = 2 * MEBIBYTE
export const MOST_ROWS = 20_000

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

export const ImportResult = z
  .object({
    awarded: z.int(),
    skipped: z.int().describe('Not checked in, twice in the file, or awarded before'),
    created: z.int().describe('Members that the org did not know'),
    errors: z.array(z.object({ row: z.int().describe('Line of the file'), reason: z.string() })),
  })
  .meta({ id: 'ImportResult' })
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
  file_content: z.string(),
})
export const importEventCsv = job({
  name: 'store.import_event_csv',
  summary: 'Award an event to whoever an attendance file says was checked in',
  args: ImportArgs.partial(),
  attempts: 5,
  concurrency: 2,
  audited: true,
})

export const pointsImported = audited(
  'store.points.imported',
  z.object({ import_id: z.uuid(), awarded: z.int(), created: z.int() }),
)
