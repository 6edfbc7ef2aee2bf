import { z } from 'zod'
import { call } from './call.ts'
import { officer } from './caller.ts'
import { AuditEvent, audited } from './event.ts'
import { DayCount, Instant, nextCursor, OrgParams, Paging } from './fields.ts'
import type { Service } from './names.ts'
import { JobRun } from './ops.ts'
import { route } from './route.ts'

/** The jobs that were run for an org, and those to run again (decisions.md § 8). */

/** The services whose jobs name an org. */
export const jobServices = ['knowledge', 'agents', 'store', 'calendar', 'alerts'] as const

export const MOST_RUNS = 501 // a page of 500 and the one that tells that there are more

const OfOrg = z.object({ org_id: z.int() })
const JobState = JobRun.shape.state

/** Each of `jobServices` answers these for its own, by the frame that all share. */
export const listJobRuns = (service: Service) =>
  call({
    service,
    name: 'list_job_runs',
    summary: 'Runs of jobs for an org, the newest first',
    callers: ['ops'],
    args: OfOrg.extend({
      before: z.string().optional().describe('Only those with a lower id'),
      limit: z.int().min(1).max(MOST_RUNS),
      state: JobState.optional(),
    }),
    reply: z.object({ runs: z.array(JobRun) }),
  })
export const tellJobDays = (service: Service) =>
  call({
    service,
    name: 'tell_job_days',
    summary: 'How many runs of jobs an org had on each day from an instant on',
    callers: ['ops'],
    args: OfOrg.extend({ since: Instant }),
    reply: z.object({ days: z.array(DayCount) }),
  })
export const retryJobRun = (service: Service) =>
  call({
    service,
    name: 'retry_job_run',
    summary: 'Queue a failed run of an org again; null where the service has none of this id',
    callers: ['ops'],
    args: OfOrg.extend({
      id: z.uuid(),
      by: AuditEvent.pick({ source: true, actor_kind: true, actor_id: true }),
    }),
    reply: z.object({ run: JobRun.nullable() }),
  })
export const jobRunCalls = jobServices.flatMap((service) => [
  listJobRuns(service),
  tellJobDays(service),
  retryJobRun(service),
])

export const listJobs = route({
  method: 'GET',
  url: '/api/dashboard/:org/jobs',
  summary: 'Jobs that were run for the org in the last 30 days, the newest first',
  owner: 'ops',
  caller: officer,
  params: OrgParams,
  query: Paging.extend({ state: JobState.optional() }),
  reply: {
    200: z.object({
      jobs: z.array(JobRun),
      next_cursor: nextCursor,
      unavailable: z.array(z.string()).describe('Services whose jobs are missing'),
    }),
  },
})

export const retryJob = route({
  method: 'POST',
  url: '/api/dashboard/:org/jobs/:id/retry',
  summary: 'Run a failed job again, under the same id',
  owner: 'ops',
  caller: officer,
  params: OrgParams.extend({ id: z.uuid() }),
  reply: { 202: z.object({ job: JobRun }) },
})

export const jobRetried = (service: Service) =>
  audited(`${service}.job.retried`, z.object({ job: z.string(), run_id: z.uuid() }))
