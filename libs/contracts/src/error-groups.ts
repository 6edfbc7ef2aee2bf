import { z } from 'zod'
import { officer, officerOrTool, superadmin } from './caller.ts'
import { audited } from './event.ts'
import { Instant, nextCursor, OrgParams, Paging } from './fields.ts'
import { route } from './route.ts'

/** The error log (decisions.md § 8): errors of one cause are one group. */

export const ErrorGroup = z
  .object({
    id: z.uuid(),
    service: z.string().describe('Where it was logged; dashboard: reported by a browser'),
    org: z.int().nullable().describe('The id of the org it happened in, if in one'),
    kind: z.string().describe("The error's class or code"),
    message: z.string(),
    location: z.string().nullable().describe('The first line of ours in the stack'),
    route: z.string().nullable(),
    stack: z.string().nullable(),
    count: z.int(),
    first_seen: Instant,
    last_seen: Instant,
    resolved_at: Instant.nullable(),
    resolved_by: z.string().nullable().describe('The chat user, or the machine token of a tool'),
  })
  .meta({ id: 'ErrorGroup' })

const ErrorFilters = Paging.extend({
  status: z.enum(['open', 'resolved', 'all']).default('open'),
})
const ErrorPage = z.object({ errors: z.array(ErrorGroup), next_cursor: nextCursor })
const Ids = z.object({ ids: z.array(z.uuid()).min(1).max(100) })
const Resolved = z.object({ resolved: z.int().describe('How many were open') })
const Reopened = z.object({ reopened: z.int().describe('How many were resolved') })

export const listErrors = route({
  method: 'GET',
  url: '/api/superadmin/errors',
  summary: 'Errors of every org and process, the latest first',
  owner: 'ops',
  caller: superadmin,
  query: ErrorFilters,
  reply: { 200: ErrorPage },
})

export const resolveErrors = route({
  method: 'POST',
  url: '/api/superadmin/errors/resolve',
  summary: 'Mark errors as resolved, those of no org too; one that occurs again is open again',
  owner: 'ops',
  caller: superadmin,
  body: Ids,
  reply: { 200: Resolved },
})

export const reopenErrors = route({
  method: 'POST',
  url: '/api/superadmin/errors/reopen',
  summary: 'Open resolved errors again, those of no org too',
  owner: 'ops',
  caller: superadmin,
  body: Ids,
  reply: { 200: Reopened },
})

export const listOrgErrors = route({
  method: 'GET',
  url: '/api/dashboard/:org/errors',
  summary: "The org's errors, the latest first",
  owner: 'ops',
  caller: officerOrTool('activity:read'),
  params: OrgParams,
  query: ErrorFilters,
  reply: { 200: ErrorPage },
})

export const resolveOrgErrors = route({
  method: 'POST',
  url: '/api/dashboard/:org/errors/resolve',
  summary: "Mark the org's errors as resolved; one that occurs again is open again",
  owner: 'ops',
  caller: officerOrTool('settings:write'),
  params: OrgParams,
  body: Ids,
  reply: { 200: Resolved },
})

export const reopenOrgErrors = route({
  method: 'POST',
  url: '/api/dashboard/:org/errors/reopen',
  summary: "Open the org's resolved errors again",
  owner: 'ops',
  caller: officer,
  params: OrgParams,
  body: Ids,
  reply: { 200: Reopened },
})

/** Longest report of a browser, and how many one person may send a minute. */
export const MOST_REPORT_BYTES = 32 * 1024
export const MOST_REPORTS_PER_MINUTE = 20

export const reportError = route({
  method: 'POST',
  url: '/api/dashboard/:org/errors/report',
  summary: `Report an error of the dashboard in a browser; at most ${MOST_REPORTS_PER_MINUTE} a minute`,
  owner: 'ops',
  caller: officer,
  params: OrgParams,
  maxBytes: MOST_REPORT_BYTES,
  body: z.object({
    message: z.string().trim().min(1).max(2_000),
    kind: z.string().trim().min(1).max(100).default('Error').describe('Its name: TypeError'),
    stack: z.string().max(8_000).optional(),
    route: z
      .string()
      .max(500)
      .optional()
      .describe('The page; what follows ? or # in it is not kept'),
  }),
  reply: { 202: z.object({ reported: z.literal(true) }) },
})

const Changed = z.object({ ids: z.array(z.uuid()) })
export const errorsResolved = audited('ops.errors.resolved', Changed)
export const errorsReopened = audited('ops.errors.reopened', Changed)
