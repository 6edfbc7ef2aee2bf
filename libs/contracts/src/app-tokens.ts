import { z } from 'zod'
import { signedInPerson } from './caller.ts'
import { audited } from './event.ts'
import { Instant } from './fields.ts'
import { route } from './route.ts'

/**
 * App tokens, kept for older integrations (interface.md, Tokens and credentials): a JWT as an access token
 * is, with `type` = `app`. One stands for the officer who made it, never for the superadmin; it cannot make
 * or list app tokens, and there is nothing to refresh it with.
 */

/** Days that an app token counts (interface.md, Limits). */
export const APP_TOKEN_DAYS = 120

export const createAppToken = route({
  method: 'GET',
  url: '/api/auth/appToken',
  summary: 'Make an app token (legacy: make a machine token instead); it is shown this once',
  owner: 'auth',
  caller: signedInPerson,
  query: z.object({ appname: z.string().trim().min(1).max(100) }),
  noStore: true,
  writes: true,
  reply: { 200: z.object({ app_token: z.string() }) },
})

export const listAppTokens = route({
  method: 'GET',
  url: '/api/auth/appTokens',
  summary: "The caller's app tokens that still count",
  owner: 'auth',
  caller: signedInPerson,
  reply: {
    200: z.array(
      z.object({ id: z.uuid(), app_name: z.string(), created_at: Instant, expires_at: Instant }),
    ),
  },
})

export const deleteAppToken = route({
  method: 'DELETE',
  url: '/api/auth/appTokens/:id',
  summary: "Revoke one of the caller's app tokens at once",
  owner: 'auth',
  caller: signedInPerson,
  params: z.object({ id: z.uuid() }),
  reply: { 200: z.object({ deleted: z.literal(true) }) },
})

const AppTokenNamed = z.object({ app_token_id: z.uuid(), app_name: z.string() })
export const appTokenCreated = audited('auth.app_token.created', AppTokenNamed)
export const appTokenRevoked = audited('auth.app_token.revoked', AppTokenNamed)
