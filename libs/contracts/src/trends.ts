import { z } from 'zod'
import { call } from './call.ts'
import { officerOrTool } from './caller.ts'
import { DayCount, Instant, OrgParams } from './fields.ts'
import type { ModuleName, Service } from './names.ts'
import { route } from './route.ts'

/** What happened in an org, one value a day (decisions.md § 8). */

export const FEWEST_DAYS = 7
export const MOST_DAYS = 90

/** Every series there may be, in the order in which they are shown. */
export const seriesKeys = [
  'actions',
  'jobs',
  'points',
  'orders',
  'alert_posts',
  'questions',
  'knowledge',
  'pod_hours',
] as const
export type SeriesKey = (typeof seriesKeys)[number]

export interface SeriesInfo {
  title: string
  unit: string
  module?: ModuleName
  /** Who tells it. That of jobs adds up from every service that has some (`tell_job_days`). */
  service?: Service
}

export const seriesInfo: Record<SeriesKey, SeriesInfo> = {
  actions: { title: 'Actions', unit: 'actions', service: 'ops' },
  jobs: { title: 'Jobs (kept 30 days)', unit: 'runs' },
  points: { title: 'Points awarded', unit: 'points', module: 'points', service: 'store' },
  orders: { title: 'Orders', unit: 'orders', module: 'storefront', service: 'store' },
  alert_posts: { title: 'Alert posts', unit: 'posts', module: 'alerts', service: 'alerts' },
  questions: {
    title: 'Questions to agents',
    unit: 'messages',
    module: 'agents',
    service: 'agents',
  },
  knowledge: {
    title: 'Crawls and uploads (the last 500)',
    unit: 'runs',
    module: 'knowledge',
    service: 'knowledge',
  },
  pod_hours: {
    title: 'Pod hours of sessions',
    unit: 'hours',
    module: 'compute',
    service: 'compute',
  },
}

/** Days without a value may be left out. */
export const SeriesDays = z.partialRecord(z.enum(seriesKeys), z.array(DayCount))
export type SeriesDays = z.output<typeof SeriesDays>

/** Each service with a series answers this. */
export const tellTrends = (service: Service) =>
  call({
    service,
    name: 'tell_trends',
    summary: 'What happened in an org on each day from an instant on',
    callers: ['ops'],
    args: z.object({ org_id: z.int(), since: Instant }),
    reply: SeriesDays,
  })
/** ops itself tells that of actions. */
export const trendServices = ['store', 'alerts', 'agents', 'knowledge', 'compute'] as const
export const trendCalls = trendServices.map(tellTrends)

export const Series = z
  .object({
    key: z.enum(seriesKeys),
    title: z.string(),
    unit: z.string(),
    total: z.number(),
    failed: z.number(),
    days: z.array(DayCount),
  })
  .meta({ id: 'Series' })

export const getTrends = route({
  method: 'GET',
  url: '/api/dashboard/:org/trends',
  summary: 'One series per chart, one value per UTC day; modules that are off have none',
  owner: 'ops',
  caller: officerOrTool('org:read'),
  params: OrgParams,
  query: z.object({
    days: z.coerce.number<string>().int().min(FEWEST_DAYS).max(MOST_DAYS).default(30),
  }),
  reply: {
    200: z.object({
      days: z.int(),
      series: z.array(Series),
      unavailable: z
        .array(z.enum(seriesKeys))
        .describe('Left out, or too low, because a service does not answer'),
    }),
  },
})
