import { z } from 'zod'
import { officerOrTool } from './caller.ts'
import { audited } from './event.ts'
import { Instant, nextCursor, OrgParams, Paging } from './fields.ts'
import { job } from './job.ts'
import { route } from './route.ts'

/** Times when a pod must run (interface.md, Pod session; decisions.md § 2). */

/** Longest session, and most that are not over yet on one pod (interface.md, Limits; decisions.md § 2). */
export const LONGEST_SESSION_HOURS = 24
export const MOST_SESSIONS = 100
/** Ids are the pod host's. */
export const PodId = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, 'a pod id is up to 64 of A-Z a-z 0-9 _ -')

/** The org and the pod that a URL names. */
export const PodParams = OrgParams.extend({ pod_id: PodId })
/** What an audit line about a pod says at least. */
export const PodNamed = z.object({ pod_id: PodId })
/** As `PodNamed`, for people to whom the id says nothing. */
export const PodSaid = PodNamed.extend({ name: z.string() })

export const Session = z
  .object({
    id: z.uuid(),
    pod_id: PodId,
    title: z.string(),
    start_at: Instant,
    stop_at: Instant,
    started: z.boolean().describe('The pod was seen or made to run for it'),
    finished: z.boolean(),
    created_by: z.string().describe('A chat user id, or the id of a machine token'),
  })
  .meta({ id: 'PodSession' })
export type Session = z.output<typeof Session>

export const NewSession = z.object({
  title: z.string().trim().max(200).default(''),
  start_at: Instant,
  stop_at: Instant,
})
export type NewSession = z.output<typeof NewSession>

export const listPodSessions = route({
  method: 'GET',
  url: '/api/compute/:org/pods/:pod_id/sessions',
  summary: 'All sessions of a pod, the newest first',
  owner: 'compute',
  caller: officerOrTool('compute:manage'),
  module: 'compute',
  params: PodParams,
  query: Paging,
  reply: { 200: z.object({ sessions: z.array(Session), next_cursor: nextCursor }) },
})

export const getPodSession = route({
  method: 'GET',
  url: '/api/compute/:org/pods/:pod_id/sessions/:session_id',
  summary: 'One session of a pod',
  owner: 'compute',
  caller: officerOrTool('compute:manage'),
  module: 'compute',
  params: PodParams.extend({ session_id: z.uuid() }),
  reply: { 200: z.object({ session: Session }) },
})

export const planPodSession = route({
  method: 'POST',
  url: '/api/compute/:org/pods/:pod_id/sessions',
  summary: 'Plan a time when the pod must run',
  owner: 'compute',
  caller: officerOrTool('compute:manage'),
  module: 'compute',
  params: PodParams,
  body: NewSession,
  reply: { 201: z.object({ session: Session }) },
})

export const removePodSession = route({
  method: 'DELETE',
  url: '/api/compute/:org/pods/:pod_id/sessions/:session_id',
  summary: 'Remove a session; a pod that was started for it stops within five minutes',
  owner: 'compute',
  caller: officerOrTool('compute:manage'),
  module: 'compute',
  params: PodParams.extend({ session_id: z.uuid() }),
  reply: { 200: z.object({ deleted: z.literal(true) }) },
})

export const scheduleSessions = job({
  name: 'compute.schedule',
  summary: 'Start pods ten minutes before their sessions and stop them after the last',
  args: z.object({}),
  cron: '*/5 * * * *',
  attempts: 1,
  concurrency: 1,
  audited: false,
})

const SessionNamed = PodSaid.extend({ session_id: z.uuid() })
export const sessionPlanned = audited('compute.session.planned', SessionNamed)
export const sessionRemoved = audited('compute.session.removed', SessionNamed)
