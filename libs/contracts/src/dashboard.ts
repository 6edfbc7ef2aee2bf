import { z } from 'zod'
import { call } from './call.ts'
import { officer, officerOrTool } from './caller.ts'
import { Instant, nextCursor, OrgParams, Paging } from './fields.ts'
import type { ModuleName, Service } from './names.ts'
import { Notification } from './notifications.ts'
import { AuditEntry, JobRun } from './ops.ts'
import { route } from './route.ts'

/** What an org's dashboard shows at a glance (decisions.md § 8): counts, and never what members wrote. */

/** "Recent" in sections. */
export const RECENT_DAYS = 30

const count = z.int()

/** The sections that a service has of an org. */
export const Sections = z
  .object({
    members: z.object({ total: count, joined_recently: count }),
    points: z.object({
      balances: count.describe('What all members have together'),
      awarded_recently: count,
    }),
    storefront: z.object({
      products: count,
      sold_out: count,
      orders_open: count,
      orders_recently: count,
    }),
    compute: z.object({ pods: count, sessions_open: count, sessions_ahead: count }),
    alerts: z.object({ feeds: count, enabled: count, failing: count, posted: count }),
    apps: z.object({ registered: count, deploying: count, failing: count }),
    knowledge: z.object({ sources: count, passages: count, crawled: count, failing: count }),
    agents: z.object({ conversations: count, conversations_open: count, pending_actions: count }),
    calendar: z.object({ sync_enabled: z.boolean(), last_sync_at: Instant.nullable() }),
    tokens: z.object({ machine_tokens: count, ending_soon: count, cli_tokens: count }),
  })
  .partial()
export type Sections = z.output<typeof Sections>
export type SectionName = keyof Sections

/** Who tells which section, and of which module it is. */
export const sectionOwners: Record<SectionName, { service: Service; module?: ModuleName }> = {
  members: { service: 'store' },
  points: { service: 'store', module: 'points' },
  storefront: { service: 'store', module: 'storefront' },
  compute: { service: 'compute', module: 'compute' },
  alerts: { service: 'alerts', module: 'alerts' },
  apps: { service: 'compute', module: 'apps' },
  knowledge: { service: 'knowledge', module: 'knowledge' },
  agents: { service: 'agents', module: 'agents' },
  calendar: { service: 'calendar', module: 'calendar' },
  tokens: { service: 'auth' },
}

/** Each service with a section answers this. */
export const tellSections = (service: Service) =>
  call({
    service,
    name: 'tell_sections',
    summary: 'What the overview of an org shows of this service',
    callers: ['ops'],
    args: z.object({ org_id: z.int() }),
    reply: Sections,
  })
const sectionServices = [...new Set(Object.values(sectionOwners).map(({ service }) => service))]
export const sectionCalls = sectionServices.map(tellSections)

const Unavailable = z.object({ unavailable: z.literal(true) })
const shown = <S extends z.ZodType>(section: S) => z.union([section, Unavailable]).optional()
const { shape } = Sections.required()

export const getOverview = route({
  method: 'GET',
  url: '/api/dashboard/:org/overview',
  summary:
    'Every section in one answer; of a service that does not answer {unavailable: true}, of a module that is off nothing',
  owner: 'ops',
  caller: officerOrTool('org:read'),
  params: OrgParams,
  reply: {
    200: z.object({
      organization: z.object({ id: z.int(), prefix: z.string(), name: z.string() }),
      modules: z.array(z.string()).describe('Those that are on'),
      sections: z.object({
        members: shown(shape.members),
        points: shown(shape.points),
        storefront: shown(shape.storefront),
        compute: shown(shape.compute),
        alerts: shown(shape.alerts),
        apps: shown(shape.apps),
        knowledge: shown(shape.knowledge),
        agents: shown(shape.agents),
        calendar: shown(shape.calendar),
        tokens: shown(shape.tokens),
      }),
      problems: z.array(Notification).describe('The open notifications'),
      activity: z
        .array(AuditEntry)
        .describe('The newest audit lines; none for tokens without activity:read'),
      jobs: z
        .array(JobRun)
        .describe('The newest runs of jobs; none for tokens without activity:read'),
      generated_at: Instant,
    }),
  },
})

export const listActivity = route({
  method: 'GET',
  url: '/api/dashboard/:org/activity',
  summary: 'Who did what in the org, newest first',
  owner: 'ops',
  caller: officer,
  params: OrgParams,
  query: Paging,
  reply: { 200: z.object({ activity: z.array(AuditEntry), next_cursor: nextCursor }) },
})
