import { z } from 'zod'
import { superadmin } from './caller.ts'
import { audited } from './event.ts'
import { nextCursor, OrgId, OrgIdParams, OrgPrefix, Paging } from './fields.ts'
import { Acknowledged, ChatRoleId, ChatServerId, NewOrg, Org } from './orgs.ts'
import { route } from './route.ts'

/** What only the superadmin may do: orgs, their officer roles and prefixes, publishers (decisions.md § 1). */

export const checkSuperadmin = route({
  method: 'GET',
  url: '/api/superadmin/check',
  summary: 'Answers if you are the superadmin',
  owner: 'auth',
  caller: superadmin,
  reply: { 200: z.object({ superadmin: z.literal(true), chat_user_id: z.string() }) },
})

export const listEveryOrg = route({
  method: 'GET',
  url: '/api/superadmin/orgs',
  summary: 'Every org, deactivated ones too, the oldest first',
  owner: 'auth',
  caller: superadmin,
  query: Paging,
  reply: { 200: z.object({ organizations: z.array(Org), next_cursor: nextCursor }) },
})

export const addOrg = route({
  method: 'POST',
  url: '/api/superadmin/orgs',
  summary:
    'Make an org for a chat server; without a prefix it gets one from its name. An equal one made before is answered as it is',
  owner: 'auth',
  caller: superadmin,
  body: NewOrg.omit({ off: true, prefix: true, officer_role_id: true }).extend({
    prefix: OrgPrefix.optional(),
    officer_role_id: ChatRoleId.nullable().default(null),
  }),
  reply: { 200: Org, 201: Org },
})

export const deactivateOrg = route({
  method: 'DELETE',
  url: '/api/superadmin/orgs/:org_id',
  summary:
    'Deactivate an org: it is found no more and its tokens do not count. Its data stay until the operator purges it',
  owner: 'auth',
  caller: superadmin,
  params: OrgIdParams,
  reply: { 200: Acknowledged.extend({ deactivated: z.literal(true) }) },
})

export const activateOrg = route({
  method: 'POST',
  // not :org_id, by which the gateway looks for an active org
  url: '/api/superadmin/orgs/:id/activate',
  summary: 'Undo the deactivation of an org: it is found again, and its tokens count again',
  owner: 'auth',
  caller: superadmin,
  params: z.object({ id: OrgId }),
  reply: { 200: z.object({ activated: z.literal(true) }) },
})

export const putOfficerRole = route({
  method: 'PUT',
  url: '/api/superadmin/orgs/:org_id/officer_role',
  summary: 'Choose the role whose holders are officers; with null the org has no officers',
  owner: 'auth',
  caller: superadmin,
  params: OrgIdParams,
  body: z.object({ officer_role_id: ChatRoleId.nullable() }),
  reply: { 200: Org },
})

export const putPrefix = route({
  method: 'PUT',
  url: '/api/superadmin/orgs/:org_id/prefix',
  summary: 'Change the prefix. The old one stays reserved for this org',
  owner: 'auth',
  caller: superadmin,
  params: OrgIdParams,
  body: z.object({ prefix: OrgPrefix }),
  reply: { 200: Org },
})

export const listGuilds = route({
  method: 'GET',
  url: '/api/superadmin/guilds',
  summary: 'The chat servers that the bot is on, and the org of each',
  owner: 'auth',
  caller: superadmin,
  query: Paging,
  reply: {
    200: z.object({
      guilds: z.array(
        z.object({ id: z.string(), name: z.string(), org_id: z.int().nullable() }).meta({
          id: 'Guild',
        }),
      ),
      next_cursor: nextCursor,
    }),
  },
})

export const listGuildRoles = route({
  method: 'GET',
  url: '/api/superadmin/guilds/:guild_id/roles',
  summary: 'The roles of a chat server, the highest first, and which may be an officer role',
  owner: 'auth',
  caller: superadmin,
  params: z.object({ guild_id: ChatServerId }),
  reply: {
    200: z.object({
      roles: z.array(
        z
          .object({
            id: z.string(),
            name: z.string(),
            color: z.string().describe('#RRGGBB; #000000 where the platform shows none'),
            position: z.int(),
            may_be_officer_role: z.boolean(),
          })
          .meta({ id: 'GuildRole' }),
      ),
    }),
  },
})

export const Publisher = z
  .object({ org_id: z.int(), prefix: OrgPrefix, name: z.string(), publisher: z.boolean() })
  .meta({ id: 'Publisher' })

export const listMarkedPublishers = route({
  method: 'GET',
  url: '/api/superadmin/publishers',
  summary: 'Orgs marked as publishers; those of KNOWLEDGE_PUBLISHERS publish besides',
  owner: 'auth',
  caller: superadmin,
  query: Paging,
  reply: { 200: z.object({ publishers: z.array(Publisher), next_cursor: nextCursor }) },
})

export const putPublisher = route({
  method: 'PUT',
  url: '/api/superadmin/publishers/:org_id',
  summary: 'Mark or unmark a publisher. Unmarking hides its public sources from others at once',
  owner: 'auth',
  caller: superadmin,
  params: OrgIdParams,
  body: z.object({ publisher: z.boolean() }),
  reply: { 200: Publisher },
})

export const orgDeactivated = audited('auth.org.deactivated', z.object({ prefix: z.string() }))
export const orgActivated = audited('auth.org.activated', z.object({ prefix: z.string() }))
export const officerRoleChanged = audited(
  'auth.org.officer_role_changed',
  z.object({ from: z.string().nullable(), to: z.string().nullable() }),
)
export const prefixChanged = audited(
  'auth.org.prefix_changed',
  z.object({ from: z.string(), to: z.string() }),
)
export const publisherMarked = audited('auth.publisher.marked', z.object({}))
export const publisherUnmarked = audited('auth.publisher.unmarked', z.object({}))
