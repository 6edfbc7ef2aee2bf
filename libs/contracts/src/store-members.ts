import { z } from 'zod'
import { call } from './call.ts'
import { identity, member, siteMember } from './caller.ts'
import { audited } from './event.ts'
import { ChatUserId, Instant, OrgParams } from './fields.ts'
import { Email, MemberDetails } from './points.ts'
import { route } from './route.ts'

/** What members see and say of themselves (interface.md, Store routes; decisions.md § 5). */

export const Profile = z
  .object({
    id: z.uuid(),
    name: z.string(),
    username: z.string().nullable(),
    email: z.string().nullable(),
    student_id: z.string().nullable(),
    chat_linked: z.boolean(),
  })
  .meta({ id: 'Profile' })
export const Organization = z
  .object({ id: z.int(), name: z.string(), prefix: z.string() })
  .meta({ id: 'Organization' })
const SignedIn = z.object({ message: z.string(), user: Profile, organization: Organization })

export const memberLogin = route({
  method: 'POST',
  url: '/api/points/:org/member_login',
  summary: 'Sign in to the store site as a member; fills only what the org does not know yet',
  owner: 'store',
  caller: identity,
  module: 'points',
  params: OrgParams,
  body: MemberDetails.omit({ profile_fields: true })
    .partial()
    .extend({
      email: Email.describe('The verified email of the token'),
    }),
  reply: { 200: SignedIn.partial().required({ message: true }) },
})

export const getMemberProfile = route({
  method: 'GET',
  url: '/api/points/:org/member_profile',
  summary: 'What the org knows of the member who asks',
  owner: 'store',
  caller: siteMember,
  module: 'points',
  params: OrgParams,
  reply: { 200: SignedIn },
})

export const Wallet = z
  .object({
    email: z.string().nullable(),
    total_points: z.int(),
    points_breakdown: z
      .array(
        z.object({
          points: z.int(),
          event: z.string(),
          timestamp: Instant,
          awarded_by: z.string().nullable(),
        }),
      )
      .describe('The newest 20'),
  })
  .meta({ id: 'Wallet' })
export type Wallet = z.output<typeof Wallet>

export const getWallet = route({
  method: 'GET',
  url: '/api/storefront/:org/wallet/:email',
  summary: "The caller's own points",
  owner: 'store',
  caller: siteMember,
  module: 'storefront',
  params: OrgParams.extend({ email: Email }),
  reply: { 200: Wallet },
})

export const getMyPoints = route({
  method: 'GET',
  url: '/api/storefront/:org/members/points',
  summary: "The member's own points",
  owner: 'store',
  caller: member,
  module: 'storefront',
  params: OrgParams,
  reply: { 200: Wallet },
})

/** Asked once auth has linked the two; both may have points, orders and memberships here. */
export const linkPeople = call({
  service: 'store',
  name: 'link_people',
  summary: 'Make one person of a chat user and the owner of an email; may be repeated',
  callers: ['auth'],
  args: z.object({ chat_user_id: ChatUserId, email: Email }),
  reply: z.object({}),
  deadlineMs: 10_000,
})

export const memberClaimed = audited(
  'store.member.claimed',
  z.object({
    user_id: z.uuid().describe('Given to the person who proved its email, or who was linked'),
    into: z.uuid().describe('What it was joined with; itself where they had none in the org'),
  }),
)
export const peopleLinked = audited(
  'store.people.linked',
  z.object({ memberships: z.int().describe('Joined with another of the same org') }),
)
