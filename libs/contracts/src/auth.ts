import { z } from 'zod'
import { SESSION_COOKIE } from './accounts.ts'
import { call } from './call.ts'
import { anyone, anyPlatform, maybePlatform } from './caller.ts'
import { audited } from './event.ts'
import { ChatUserId, Instant, SignInReturn } from './fields.ts'
import { Redirect, route } from './route.ts'

/** Sign-in through the chat platform and the platform's own token pair (interface.md, Authentication). */

/** Seconds that an access token counts (interface.md, Limits). */
export const ACCESS_TOKEN_SECONDS = 30 * 60

/** What an access token says: an RS256 JWT whose header names its key. */
export const AccessClaims = z.object({
  jti: z.string(),
  username: z.string(),
  chat_user_id: ChatUserId,
  iat: z.int(),
  exp: z.int(),
  /** An app token (`app-tokens.ts`): never the superadmin's. An access token has none. */
  type: z.literal('app').optional(),
})
export type AccessClaims = z.output<typeof AccessClaims>

/** The signed cookie that carries state and PKCE between login and callback. */
export const SIGN_IN_COOKIE = 'guildhall_sign_in'

/** Auth's word to the gateway, on the answer to a callback, that the sign-in was refused. It goes no further. */
export const SIGN_IN_REFUSED = 'x-guildhall-sign-in-refused'

const TokenPair = z
  .object({
    access_token: z.string(),
    refresh_token: z.string(),
    token_type: z.literal('Bearer'),
    expires_in: z.int().describe('Seconds until the access token ends'),
  })
  .meta({ id: 'TokenPair' })
export type TokenPair = z.output<typeof TokenPair>

const Message = z.object({ message: z.string() })

export const login = route({
  method: 'GET',
  url: '/api/auth/login',
  summary: 'Send the browser to the chat platform to sign in',
  owner: 'auth',
  caller: anyone,
  query: z.object({ client: z.enum(['dashboard', 'client']).default('client') }),
  cookies: [SIGN_IN_COOKIE],
  noStore: true,
  rate: 'sign_in',
  reply: { 302: Redirect },
})

export const loginCallback = route({
  method: 'GET',
  url: '/api/auth/callback',
  summary: 'Where the chat platform sends the browser back to',
  owner: 'auth',
  caller: anyone,
  query: SignInReturn,
  cookies: [SIGN_IN_COOKIE],
  noStore: true,
  writes: true,
  rate: 'sign_in',
  reply: { 302: Redirect },
})

export const exchange = route({
  method: 'POST',
  url: '/api/auth/exchange',
  summary: 'A token pair for the one-time code of a sign-in',
  owner: 'auth',
  caller: anyone,
  body: z.object({ code: z.string().min(1).max(200) }),
  noStore: true,
  rate: 'sign_in',
  reply: { 200: TokenPair },
})

export const refresh = route({
  method: 'POST',
  url: '/api/auth/refresh',
  summary: 'A new token pair for a refresh token, which is spent by it',
  owner: 'auth',
  caller: anyone,
  body: z.object({ refresh_token: z.string().min(1).max(200) }),
  noStore: true,
  rate: 'sign_in',
  reply: { 200: TokenPair },
})

const Ending = z.object({ refresh_token: z.string().min(1).max(200).optional() }).default({})

export const revoke = route({
  method: 'POST',
  url: '/api/auth/revoke',
  summary: 'End the access token presented, and the refresh token sent along',
  owner: 'auth',
  caller: anyPlatform,
  body: Ending,
  reply: { 200: Message },
})

export const logout = route({
  method: 'POST',
  url: '/api/auth/logout',
  summary: 'As revoke, and the end of the cookie session; never refused',
  owner: 'auth',
  caller: maybePlatform,
  body: Ending.catch({}),
  anyBody: true,
  cookies: [SESSION_COOKIE],
  reply: { 200: Message },
})

export const getName = route({
  method: 'GET',
  url: '/api/auth/name',
  summary: 'The name of whoever signed in',
  owner: 'auth',
  caller: anyPlatform,
  reply: { 200: z.object({ name: z.string() }) },
})

export const validToken = route({
  method: 'GET',
  url: '/api/auth/validToken',
  summary: 'Whether the access token still counts',
  owner: 'auth',
  caller: anyPlatform,
  reply: {
    200: z.object({
      status: z.literal('success'),
      valid: z.literal(true),
      expired: z.literal(false),
    }),
  },
})

/** RFC 7517. Only public keys stand here. */
export const Jwks = z.object({
  keys: z.array(
    z.looseObject({ kty: z.string(), kid: z.string(), alg: z.string(), use: z.string() }),
  ),
})

export const getJwks = route({
  method: 'GET',
  url: '/.well-known/jwks.json',
  summary: 'The public keys that verify access tokens',
  owner: 'auth',
  caller: anyone,
  reply: { 200: Jwks },
})

export const findSigningKeys = call({
  service: 'auth',
  name: 'find_signing_keys',
  summary: 'The public keys that verify access tokens',
  callers: ['gateway'],
  args: z.object({}),
  reply: Jwks,
})

/** KV bucket of revoked access tokens: key `jti`, value the token's `exp`. A projection of auth's table. */
export const REVOKED_BUCKET = 'revoked_tokens'
/** The key that auth writes when every revocation of its table is in the bucket. */
export const REVOKED_COMPLETE = 'complete'
/**
 * How long after that key was written a gateway that begins to watch believes it. Entries stay longer than this and
 * the writing of a whole bucket together, all by the broker's clock: so none has ended while the key is believed.
 */
export const REVOKED_COMPLETE_MS = 45 * 60_000
/** The key that auth writes again and again: whoever hears it hears of revocations too. */
export const REVOKED_BEAT = 'beat'
/** A gateway that has not heard the beat for so long takes its watch for broken. */
export const REVOKED_SILENCE_MS = 1_000

export const isRevoked = call({
  service: 'auth',
  name: 'is_revoked',
  summary: 'Whether an access token was revoked, for a gateway that lost sight of the bucket',
  callers: ['gateway'],
  args: z.object({ jti: z.string() }),
  reply: z.object({ revoked: z.boolean() }),
})

/**
 * Why an access decision is what it is (interface.md, Access checks). Its `no_discord_id` cannot happen: every
 * credential of an officer's route names a chat user, and a token without one is no token.
 */
export const AccessReason = z.enum([
  'not_org_officer',
  'not_officer',
  'not_superadmin',
  'no_platform_credential',
  'bot_unavailable',
  'oauth_state_mismatch',
])
export type AccessReason = z.output<typeof AccessReason>

export const AccessDecision = z.object({
  allowed: z.boolean(),
  /** Null when allowed. */
  reason: AccessReason.nullable(),
  superadmin: z.boolean(),
  /** Nobody keeps the decision longer than this: 60 s at most after the roles were read. */
  valid_until: Instant,
})
export type AccessDecision = z.output<typeof AccessDecision>

export const decideAccess = call({
  service: 'auth',
  name: 'decide_access',
  summary: 'Whether a chat user may act on an org',
  callers: ['gateway'],
  args: z.object({
    chat_user_id: ChatUserId,
    org_id: z.int(),
    /** Of the token: what stands for no superadmin is decided by the officer role alone. */
    type: AccessClaims.shape.type,
  }),
  reply: AccessDecision,
  deadlineMs: 8_000, // the chat platform is asked on the way
})

export const isSuperadmin = call({
  service: 'auth',
  name: 'is_superadmin',
  summary: 'Whether a chat user is in SYS_ADMIN',
  callers: ['gateway'],
  args: z.object({ chat_user_id: ChatUserId }),
  reply: z.object({ superadmin: z.boolean() }),
})

const Who = z.object({ username: z.string() })
export const signedIn = audited('auth.officer.signed_in', Who)
export const sessionRevoked = audited('auth.session.revoked', Who)
export const refreshReused = audited('auth.refresh_token.reused', Who)
