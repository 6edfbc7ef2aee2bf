import { z } from 'zod'
import { maybePlatform, maybePlatformOrTool, officer, officerOrTool } from './caller.ts'
import { audited } from './event.ts'
import { ChatUserId, Instant, nextCursor, OrgParams, Paging } from './fields.ts'
import { route } from './route.ts'

/** Members of an org and their points, as officers keep them (interface.md, Store; decisions.md § 5). */

/** Most points of one award, either way. */
export const MOST_POINTS = 1_000_000

/** Compared and kept in lower case. */
export const Email = z
  .string()
  .trim()
  .toLowerCase()
  .max(254)
  .pipe(z.email('is no email address, such as name@example.org'))
const Text = z.string().trim().max(200)
const Username = z
  .string()
  .trim()
  .toLowerCase()
  .regex(/^[a-z0-9][a-z0-9._-]{0,38}$/, 'a username is up to 39 of a-z, 0-9, ".", "_" and "-"')
  .refine((name) => !z.uuid().safeParse(name).success, 'a username must not look like an id')
export const EventName = Text.min(1, 'name the event')
const ProfileFields = z
  .record(z.string().max(100), z.string().max(1_000))
  .refine((fields) => Object.keys(fields).length <= 50, 'at most 50 profile fields')

/** What an org knows of a person; other orgs neither see nor change it. */
export const MemberDetails = z.object({
  name: Text,
  email: Email.nullable(),
  username: Username.nullable(),
  student_id: Text.nullable(),
  class_standing: Text.nullable(),
  major: Text.nullable(),
  profile_fields: ProfileFields,
})

export const PointsUser = MemberDetails.extend({
  id: z.uuid().describe('Of the member in this org alone'),
  chat_linked: z.boolean().describe('A chat account is known'),
  total_points: z.int(),
  created_at: Instant,
  updated_at: Instant,
}).meta({ id: 'PointsUser' })
export type PointsUser = z.output<typeof PointsUser>

const Name = Text.min(1, 'give a name')
export const NewPointsUser = MemberDetails.partial()
  .required({ name: true })
  .extend({ name: Name, email: Email })
export const PointsUserPatch = MemberDetails.partial()
  .extend({ name: Name.optional() })
  .refine((fields) => Object.keys(fields).length > 0, 'Send at least one field')
export type PointsUserPatch = z.output<typeof PointsUserPatch>

/** An email, the member's uuid, or a username. */
const Identifier = z.string().trim().min(1).max(254)
const UserParams = OrgParams.extend({ identifier: Identifier })

const points = { owner: 'store', module: 'points', params: OrgParams } as const

export const listPointsUsers = route({
  method: 'GET',
  url: '/api/points/:org/users',
  summary: "The org's members, the newest first",
  ...points,
  caller: officer,
  query: Paging.extend({
    q: z.string().trim().max(100).optional().describe('Part of a name, an email or a username'),
  }),
  reply: { 200: z.object({ users: z.array(PointsUser), next_cursor: nextCursor }) },
})

export const createPointsUser = route({
  method: 'POST',
  url: '/api/points/:org/users',
  summary: 'Add a member by their email',
  ...points,
  caller: officer,
  body: NewPointsUser,
  reply: { 201: z.object({ user: PointsUser }) },
})

export const putPointsUser = route({
  method: 'PUT',
  url: '/api/points/:org/users/:identifier',
  summary: "Change what the org knows of a member; fields not named stay, and so do other orgs'",
  ...points,
  params: UserParams,
  caller: officer,
  body: PointsUserPatch,
  reply: { 200: z.object({ user: PointsUser }) },
})

export const PointsEntry = z
  .object({
    id: z.int(),
    points: z.int(),
    kind: z.enum(['award', 'csv', 'purchase', 'refund', 'adjust']),
    event: z.string(),
    awarded_by: z.string().nullable(),
    timestamp: Instant,
  })
  .meta({ id: 'PointsEntry' })

export const getUserPoints = route({
  method: 'GET',
  url: '/api/points/:org/users/:identifier/points',
  summary: "A member's points, the newest first",
  ...points,
  params: UserParams,
  caller: officerOrTool('points:read'),
  query: Paging,
  reply: {
    200: z.object({
      user: PointsUser,
      total_points: z.int(),
      points: z.array(PointsEntry),
      next_cursor: nextCursor,
    }),
  },
})

const Points = z
  .int()
  .min(-MOST_POINTS)
  .max(MOST_POINTS)
  .refine((value) => value !== 0, 'award at least one point, or take one away')

export const assignPoints = route({
  method: 'POST',
  url: '/api/points/:org/assign_points',
  summary: 'Give a member points, or take some away, for an event',
  ...points,
  caller: officerOrTool('points:write'),
  body: z
    .object({
      user_identifier: Identifier.optional().describe('Email, id or username'),
      chat_user_id: ChatUserId.optional(),
      points: Points,
      event: EventName,
    })
    .refine(
      ({ user_identifier, chat_user_id }) =>
        (user_identifier === undefined) !== (chat_user_id === undefined),
      'Send user_identifier or chat_user_id, one of the two',
    ),
  idempotent: true,
  reply: {
    201: z.object({
      id: z.int(),
      user_id: z.uuid(),
      points: z.int(),
      event: z.string(),
      total_points: z.int().describe('The balance after it'),
    }),
  },
})

export const deletePoints = route({
  method: 'DELETE',
  url: '/api/points/:org/delete_points',
  summary: 'Take back the points of an event, from everybody or from one member',
  ...points,
  caller: officer,
  body: z.object({ event: EventName, user_email: Email.optional() }),
  reply: { 200: z.object({ deleted: z.int() }) },
})

/** A line of a list that everybody may see. */
export const Standing = z
  .object({
    name: z.string(),
    identifier: z.string().describe('The email for officers of the org, else an id'),
    total_points: z.int(),
    points_details: z
      .array(z.object({ event: z.string(), points: z.int(), timestamp: Instant }))
      .describe('The newest 20 that were earned'),
  })
  .meta({ id: 'Standing' })
export type Standing = z.output<typeof Standing>

const StandingsQuery = z.object({
  limit: z.coerce.number<string>().int().min(1).max(500).default(100),
  offset: z.coerce.number<string>().int().min(0).max(1_000_000).default(0),
})

export const getLeaderboard = route({
  method: 'GET',
  url: '/api/points/:org/leaderboard',
  summary: 'Members by their points, the most first',
  ...points,
  caller: maybePlatformOrTool('points:read'),
  query: StandingsQuery,
  reply: { 200: z.array(Standing) },
})

export const getPoints = route({
  method: 'GET',
  url: '/api/points/:org/get_points',
  summary: 'Members by their names, with their points',
  ...points,
  caller: maybePlatform,
  query: StandingsQuery,
  reply: { 200: z.array(Standing) },
})

const OfMember = z.object({ user_id: z.uuid() })
export const memberAdded = audited('store.member.created', OfMember)
export const memberChanged = audited(
  'store.member.changed',
  OfMember.extend({ fields: z.array(z.string()) }),
)
export const pointsAwarded = audited(
  'store.points.awarded',
  OfMember.extend({ points: z.int(), entry: z.int() }),
)
export const pointsDeleted = audited(
  'store.points.deleted',
  z.object({ event: z.string(), deleted: z.int() }),
)
