import { z } from 'zod'
import { call } from './call.ts'
import { officerOrTool, superadmin } from './caller.ts'
import { AuditEvent, audited } from './event.ts'
import { Instant, nextCursor, OrgIdParams, Paging } from './fields.ts'
import { job } from './job.ts'
import { type Service, services } from './names.ts'
import { route } from './route.ts'

/** The audit log, the error log and scheduled work (decisions.md § 8). */

export const AuditEntry = AuditEvent.omit({ org_id: true })
  .extend({ org: z.int().nullable().describe('The id of the org, if it is about one') })
  .meta({ id: 'AuditEntry' })
const AuditFilters = Paging.extend({
  actor: z.string().max(100).optional(),
  action: z.string().max(100).optional().describe('A whole action, or its beginning'),
  since: Instant.optional(),
})
const AuditPage = z.object({ entries: z.array(AuditEntry), next_cursor: nextCursor })

export const listOrgAudit = route({
  method: 'GET',
  url: '/api/organizations/:org_id/audit',
  summary: "The org's audit log, newest first",
  owner: 'ops',
  caller: officerOrTool('activity:read'),
  params: OrgIdParams,
  query: AuditFilters,
  reply: { 200: AuditPage },
})

export const listAudit = route({
  method: 'GET',
  url: '/api/superadmin/audit',
  summary: 'The audit log of every org, newest first',
  owner: 'ops',
  caller: superadmin,
  query: AuditFilters,
  reply: { 200: AuditPage },
})

/** Every service but ops answers this, by the frame that all share. */
export const readinessOf = (service: Service) =>
  call({
    service,
    name: 'tell_readiness',
    summary: 'What the process that answers still waits for',
    callers: ['ops'],
    args: z.object({}),
    reply: z.object({ missing: z.array(z.string()) }),
  })
export const readinessCalls = services.filter((service) => service !== 'ops').map(readinessOf)

export const getHealth = route({
  method: 'GET',
  url: '/api/superadmin/health',
  summary: 'Whether every service answers, and what each waits for',
  owner: 'ops',
  caller: superadmin,
  reply: {
    200: z.object({
      status: z.enum(['ok', 'degraded']),
      services: z.array(
        z.object({
          service: z.string(),
          status: z.enum(['ready', 'waiting', 'silent']),
          missing: z.array(z.string()),
        }),
      ),
    }),
  },
})

/** How a job stands in the `job_runs` of the service that owns it. */
export const JobRun = z.object({
  id: z.uuid(),
  job: z.string(),
  state: z.enum(['queued', 'running', 'done', 'failed']),
  attempts: z.int(),
  queued_at: Instant,
  started_at: Instant.nullable(),
  finished_at: Instant.nullable(),
  error: z.string().nullable().describe('Cut where a page has many'),
  result: z.unknown().describe('Null where it is too long for a page of many'),
})
export type JobRun = z.output<typeof JobRun>

/** Every service answers these two for its own jobs. */
export const startJob = (service: Service) =>
  call({
    service,
    name: 'start_job',
    summary: 'Queue a job under an id of the caller; the same id again changes nothing',
    callers: ['operator'],
    args: z.object({ id: z.uuid(), job: z.string(), args: z.record(z.string(), z.unknown()) }),
    reply: JobRun,
  })
export const findJobRun = (service: Service) =>
  call({
    service,
    name: 'find_job_run',
    summary: 'How a job stands',
    callers: ['operator'],
    args: z.object({ id: z.uuid() }),
    reply: z.object({ run: JobRun.nullable() }),
  })
export const jobCalls = services.flatMap((service) => [startJob(service), findJobRun(service)])

export const jobStarted = (service: Service) =>
  audited(`${service}.job.started`, z.object({ job: z.string(), run_id: z.uuid() }))

const prune = (service: Service) =>
  job({
    name: `${service}.prune`,
    summary: `Delete what ${service} need not keep any longer`,
    args: z.object({}),
    cron: '17 3 * * *',
    attempts: 3,
    concurrency: 1,
    audited: false,
  })
/** Each service prunes what it keeps, daily. */
export const pruneJobs = Object.fromEntries(
  services.map((service) => [service, prune(service)]),
) as Record<Service, ReturnType<typeof prune>>
