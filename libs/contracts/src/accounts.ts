import { z } from 'zod'
import { call } from './call.ts'
import { anyone, anySession } from './caller.ts'
import { audited } from './event.ts'
import { ChatUserId, Instant, SignInReturn } from './fields.ts'
import { job } from './job.ts'
import { Redirect, route } from './route.ts'

/** Members: their cookie session and their identity-provider account (interface.md, Members; decisions.md §§ 0, 1). */

/** The cookie of a member's session; under https its name begins with `__Host-`. */
export const SESSION_COOKIE = 'guildhall_session'
/** The encrypted cookie that carries state and PKCE of a member's sign-in. */
export const MEMBER_SIGN_IN_COOKIE = 'guildhall_member_sign_in'

export const chatLogin = route({
  method: 'GET',
  url: '/api/accounts/chat/login',
  summary: 'Send a member to the chat platform to sign in',
  owner: 'auth',
  caller: anyone,
  query: z.object({
    next: z
      .string()
      .max(2_000)
      .optional()
      .describe('Where the browser goes afterwards: a page of an allowed origin'),
  }),
  cookies: [MEMBER_SIGN_IN_COOKIE],
  noStore: true,
  rate: 'sign_in',
  reply: { 302: Redirect },
})

export const chatCallback = route({
  method: 'GET',
  url: '/api/accounts/chat/callback',
  summary: 'Where the chat platform sends a member back to; begins the session',
  owner: 'auth',
  caller: anyone,
  query: SignInReturn,
  cookies: [MEMBER_SIGN_IN_COOKIE, SESSION_COOKIE],
  noStore: true,
  writes: true,
  rate: 'sign_in',
  reply: { 302: Redirect },
})

const Account = z
  .object({
    chat_user_id: ChatUserId,
    username: z.string(),
    email: z.string().nullable().describe('Of the identity-provider account linked to it'),
    expires_at: Instant.describe('When the session ends at the latest'),
  })
  .meta({ id: 'Account' })

export const getMe = route({
  method: 'GET',
  url: '/api/accounts/me',
  summary: 'Who the session is',
  owner: 'auth',
  caller: anySession,
  noStore: true,
  reply: { 200: Account },
})

export const endSession = route({
  method: 'POST',
  url: '/api/accounts/logout',
  summary: 'End the session',
  owner: 'auth',
  caller: anySession,
  body: z.object({}),
  noStore: true,
  reply: { 200: z.object({ message: z.string() }) },
})

export const linkAccount = route({
  method: 'POST',
  url: '/api/accounts/link',
  summary:
    "Link the session's person with an identity-provider account: the two are one from now on",
  owner: 'auth',
  caller: anySession,
  body: z.object({
    identity_token: z
      .string()
      .min(1)
      .max(8_000)
      .describe('In the body, because a request with an Authorization header has no session'),
  }),
  noStore: true,
  reply: { 200: Account },
})

export const findSession = call({
  service: 'auth',
  name: 'find_session',
  summary: 'The session of a cookie, if it is ours and has not ended',
  callers: ['gateway'],
  args: z.object({ value: z.string().max(200) }),
  reply: z.object({
    session: z.object({ id: z.uuid(), chat_user_id: ChatUserId, username: z.string() }).nullable(),
  }),
})

export const verifyIdentity = call({
  service: 'auth',
  name: 'verify_identity',
  summary: 'Whom a token of the identity provider stands for',
  callers: ['gateway'],
  args: z.object({ token: z.string().max(8_000) }),
  reply: z.object({
    email: z.string(),
    subject: z.string(),
    /** Nobody keeps the answer longer: the end of the token, 60 s at most. */
    valid_until: Instant,
  }),
  deadlineMs: 8_000, // the identity provider is asked on the way
})

export const findLinkedEmail = call({
  service: 'auth',
  name: 'find_linked_email',
  summary: 'The email of the identity-provider account that is linked to a chat user',
  callers: ['store'],
  args: z.object({ chat_user_id: ChatUserId }),
  reply: z.object({ email: z.string().nullable() }),
})

/** Asked for with each link; the email is read when it runs. */
export const tellLink = job({
  name: 'auth.tell_link',
  summary: 'Have the store join what two linked people have there',
  args: z.object({ chat_user_id: ChatUserId }),
  attempts: 1_000, // most of a day: the two have been told that they are one
  concurrency: 1,
  audited: false,
})

export const memberSignedIn = audited('auth.member.signed_in', z.object({ username: z.string() }))
export const memberSignedOut = audited('auth.member.signed_out', z.object({ username: z.string() }))
export const accountLinked = audited('auth.account.linked', z.object({ subject: z.string() }))
