import { z } from 'zod'
import { call } from './call.ts'
import { officer } from './caller.ts'
import { audited } from './event.ts'
import { Instant, OrgParams } from './fields.ts'
import { job } from './job.ts'
import type { Service } from './names.ts'
import { route } from './route.ts'

/** What does not work in an org at this moment, and what officers have seen of it (decisions.md § 8). */

/** Problems that one service tells of; what is beyond that is of no more use. */
export const MOST_PROBLEMS = 100

export const Problem = z.object({
  kind: z.enum(['feed', 'deploy', 'crawl', 'sync', 'session']),
  key: z.string().describe('Which feed, app, source, calendar or session'),
  message: z.string(),
  at: Instant.nullable().describe('When it was seen last'),
})
export type Problem = z.output<typeof Problem>

/** Each of `problemServices` answers this. */
export const tellProblems = (service: Service) =>
  call({
    service,
    name: 'tell_problems',
    summary: 'What of an org does not work at this moment',
    callers: ['ops'],
    args: z.object({ org_id: z.int() }),
    reply: z.object({ problems: z.array(Problem).max(MOST_PROBLEMS) }),
  })
export const problemServices = ['alerts', 'compute', 'knowledge', 'calendar'] as const
export const problemCalls = problemServices.map(tellProblems)

/** The same kind, key and message have the same id: a changed message is another notification. */
const NotificationId = z.string().regex(/^[\w-]{43}$/, 'is the id of a notification')

export const Notification = Problem.extend({
  id: NotificationId,
  resolved_at: Instant.nullable(),
  resolved_by: z.string().nullable(),
}).meta({ id: 'Notification' })
export type Notification = z.output<typeof Notification>

/** Asked for what the org's config shows as `dashboard.resolved`. */
export const findResolved = call({
  service: 'ops',
  name: 'find_resolved',
  summary: 'The ids of the notifications of an org that are resolved',
  callers: ['auth'],
  args: z.object({ org_id: z.int() }),
  reply: z.object({ ids: z.array(z.string()) }),
})

export const forgetMended = job({
  name: 'ops.forget_mended',
  summary: 'Forget what was resolved and is mended, so that it opens again when it comes back',
  args: z.object({}),
  cron: '*/5 * * * *',
  attempts: 1,
  concurrency: 1,
  audited: false,
})

const Ids = z.object({ ids: z.array(NotificationId).min(1).max(500) })

export const listNotifications = route({
  method: 'GET',
  url: '/api/dashboard/:org/notifications',
  summary: 'Feeds, deploys, crawls, syncs and sessions that failed, the latest first',
  owner: 'ops',
  caller: officer,
  params: OrgParams,
  query: z.object({ status: z.enum(['open', 'resolved', 'all']).default('open') }),
  reply: {
    200: z.object({
      notifications: z.array(Notification),
      unavailable: z.array(z.string()).describe('Services whose problems are missing'),
    }),
  },
})

export const resolveNotifications = route({
  method: 'POST',
  url: '/api/dashboard/:org/notifications/resolve',
  summary:
    'Mark notifications as seen to; one opens again when its message changes or it comes back after it was mended',
  owner: 'ops',
  caller: officer,
  params: OrgParams,
  body: Ids,
  reply: { 200: z.object({ resolved: z.int() }) },
})

export const reopenNotifications = route({
  method: 'POST',
  url: '/api/dashboard/:org/notifications/reopen',
  summary: 'Open notifications again',
  owner: 'ops',
  caller: officer,
  params: OrgParams,
  body: Ids,
  reply: { 200: z.object({ reopened: z.int() }) },
})

const Counted = z.object({ count: z.int() })
export const notificationsResolved = audited('ops.notifications.resolved', Counted)
export const notificationsReopened = audited('ops.notifications.reopened', Counted)
