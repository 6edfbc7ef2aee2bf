import { z } from 'zod'
import { anyone, memberOrCli } from './caller.ts'
import { audited } from './event.ts'
import { ChatUserId, OrgParams, SignInReturn } from './fields.ts'
import { Html, Redirect, route } from './route.ts'

/** The sign-in of the compute CLI: a page shows a token, which the member pastes (interface.md, Compute, member routes). */

/** Days that a CLI token counts (interface.md, Limits). */
export const CLI_TOKEN_DAYS = 90
/** The encrypted cookie that carries state, PKCE and the org of a sign-in of the CLI. */
export const CLI_SIGN_IN_COOKIE = 'guildhall_cli_sign_in'

export const cliLogin = route({
  method: 'GET',
  url: '/api/compute/:org/cli/login',
  summary: 'Send a member to the chat platform to sign the compute CLI in',
  owner: 'auth',
  caller: anyone,
  module: 'compute',
  params: OrgParams,
  cookies: [CLI_SIGN_IN_COOKIE],
  noStore: true,
  rate: 'sign_in',
  reply: { 302: Redirect },
})

export const cliCallback = route({
  method: 'GET',
  url: '/api/compute/cli/callback',
  summary: 'Where the chat platform sends the member back to: a page shows the CLI token once',
  owner: 'auth',
  caller: anyone,
  query: SignInReturn,
  cookies: [CLI_SIGN_IN_COOKIE],
  noStore: true,
  writes: true,
  rate: 'sign_in',
  reply: { 200: Html, 400: Html, 403: Html, 404: Html, 503: Html },
})

export const cliLogout = route({
  method: 'DELETE',
  url: '/api/compute/:org/me/cli-token',
  summary: "Revoke the token of the caller's own CLI in this org",
  owner: 'auth',
  caller: memberOrCli,
  module: 'compute',
  params: OrgParams,
  reply: { 200: z.object({ deleted: z.boolean().describe('false: there was none') }) },
})

export const cliTokenRevoked = audited(
  'auth.cli_token.revoked',
  z.object({ token_id: z.uuid(), chat_user_id: ChatUserId }),
)
export const cliTokenIssued = audited(
  'auth.cli_token.issued',
  z.object({ token_id: z.uuid(), chat_user_id: ChatUserId }),
)
