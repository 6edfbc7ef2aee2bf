import { z } from 'zod'
import { call } from './call.ts'
import { officer } from './caller.ts'
import { ChatUserId, Instant, OrgParams } from './fields.ts'
import { OrgForServices } from './orgs.ts'
import { route } from './route.ts'

/** Who is on an org's chat server (interface.md, Member directory entry; decisions.md § 1). */

/** Most ids that one question may name (interface.md, Limits). */
export const MOST_IDS = 50

export const Member = z
  .object({
    id: ChatUserId,
    name: z.string().describe('Nickname on the server, else the display name, else the username'),
    username: z.string(),
    avatar: z.url({ protocol: /^https$/ }).nullable(),
    roles: z.array(z.string()).describe('Role ids; the everyone role is not among them'),
  })
  .meta({ id: 'Member' })
export type Member = z.output<typeof Member>

export const MemberRole = z
  .object({
    id: z.string(),
    name: z.string(),
    color: z
      .string()
      .regex(/^#[0-9a-f]{6}$/)
      .nullable()
      .describe('#rrggbb, or null where the role has none'),
  })
  .meta({ id: 'MemberRole' })
export type MemberRole = z.output<typeof MemberRole>

const Ids = z
  .string()
  .transform((text) => text.split(','))
  .pipe(z.array(ChatUserId).max(MOST_IDS, `Ask for at most ${MOST_IDS} ids at once`))

export const listMembers = route({
  method: 'GET',
  url: '/api/compute/:org/members',
  summary: "Members of the org's chat server by name, without bots; or those with the given ids",
  owner: 'auth',
  caller: officer,
  module: 'compute',
  params: OrgParams,
  query: z.object({
    q: z
      .string()
      .trim()
      .max(100)
      .optional()
      .describe('How the username or the server nickname begins; without it all members are read'),
    role: z
      .string()
      .regex(/^\d{5,25}$/, 'a role id is 5 to 25 digits')
      .optional(),
    limit: z.coerce.number<string>().int().min(1).max(500).default(50),
    ids: Ids.optional().describe(
      'Up to 50 chat user ids, separated by commas; then nothing else counts, and who is not on the server is left out',
    ),
  }),
  reply: {
    200: z.object({
      members: z.array(Member),
      total: z.int().describe('How many there are, shown or not'),
    }),
  },
})

export const listMemberRoles = route({
  method: 'GET',
  url: '/api/compute/:org/members/roles',
  summary: "The roles of the org's chat server, highest first, without everyone's and bots' own",
  owner: 'auth',
  caller: officer,
  module: 'compute',
  params: OrgParams,
  reply: { 200: z.object({ roles: z.array(MemberRole) }) },
})

/** Those who ask about members; for the bot, the services whose routes it asks. */
const askers = ['knowledge', 'ops', 'compute', 'agents', 'store', 'gateway'] as const
/** The chat platform is asked on the way. */
const DEADLINE_MS = 8_000

/**
 * Throws `chat.unavailable` or `chat.rate_limited` where the chat platform does not tell. It is the same
 * read, kept for the same 60 s, that access decisions are made from.
 */
export const findMembership = call({
  service: 'auth',
  name: 'find_membership',
  summary: "Whether a chat user is on the org's server, and with which roles",
  callers: askers,
  args: z.object({ org_id: z.int(), chat_user_id: ChatUserId }),
  reply: z.object({
    member: z.boolean(),
    /** Holds the org's officer role. Being the superadmin makes nobody an officer here. */
    officer: z.boolean(),
    /** Null for who is not a member. */
    name: z.string().nullable(),
    roles: z.array(z.string()),
    /** Nobody keeps the answer longer than this. */
    valid_until: Instant,
  }),
  deadlineMs: DEADLINE_MS,
})

/** Throws as `findMembership` does. */
export const findDisplayNames = call({
  service: 'auth',
  name: 'find_display_names',
  summary: "Names of members of the org's server; who is not on it is left out",
  callers: askers,
  args: z.object({ org_id: z.int(), ids: z.array(ChatUserId).max(MOST_IDS) }),
  reply: z.object({ names: z.record(z.string(), z.string()).describe('Chat user id to name') }),
  deadlineMs: DEADLINE_MS,
})

export const findOrgsOfPerson = call({
  service: 'auth',
  name: 'find_orgs_of_person',
  summary: 'The orgs that a person administers now; of the superadmin all',
  callers: ['calendar'],
  args: z.object({ chat_user_id: z.string(), type: z.literal('app').optional() }),
  reply: z.object({ orgs: z.array(OrgForServices) }),
  deadlineMs: 10_000,
})
