import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { escapeHtml, page } from '../html.ts'
import type { World } from '../world.ts'
import type { Grants } from './grants.ts'

const Asked = z.object({
  client_id: z.string(),
  redirect_uri: z.string(),
  response_type: z.literal('code'),
  scope: z.string(),
  state: z.string().optional(),
  code_challenge: z.string().optional(),
  code_challenge_method: z.literal('S256').optional(),
})
const Chosen = Asked.extend({ user_id: z.string() })

interface Deps {
  world: World
  grants: Grants
  redirectUris: readonly string[]
}

/** The page on which a person agrees to sign in; here anybody may be anybody. */
export function authorizePage(app: FastifyInstance, { world, grants, redirectUris }: Deps) {
  app.get('/chat/oauth2/authorize', async (req, reply) => {
    const asked = Asked.safeParse(req.query)
    const fault = faultOf(asked.data)
    reply.type('text/html; charset=utf-8')
    if (!asked.success || fault)
      return reply
        .code(400)
        .send(page('Invalid sign-in', `<p>${fault ?? 'A parameter is missing.'}</p>`))
    return page('Sign in (sandbox)', buttons(asked.data))
  })

  app.post('/chat/oauth2/authorize', async (req, reply) => {
    const chosen = Chosen.safeParse(req.body)
    const fault = faultOf(chosen.data)
    if (!chosen.success || fault)
      return reply
        .code(400)
        .type('text/html')
        .send(page('Invalid sign-in', `<p>${fault ?? 'A parameter is missing.'}</p>`))
    const { user_id, redirect_uri, scope, state, code_challenge } = chosen.data
    const back = new URL(redirect_uri)
    if (state !== undefined) back.searchParams.set('state', state)
    if (user_id === '') back.searchParams.set('error', 'access_denied')
    else
      back.searchParams.set(
        'code',
        grants.makeCode({
          userId: user_id,
          scope,
          redirectUri: redirect_uri,
          challenge: code_challenge,
        }),
      )
    return reply.redirect(back.href)
  })

  /** An address that was not registered is never redirected to. */
  function faultOf(asked: z.output<typeof Asked> | undefined) {
    if (!asked) return undefined
    if (asked.client_id !== world.application.clientId) return 'Unknown application.'
    return redirectUris.includes(asked.redirect_uri) ? undefined : 'Invalid OAuth2 redirect_uri.'
  }

  function buttons(asked: z.output<typeof Asked>) {
    const hidden = Object.entries(asked)
      .filter(([, value]) => value !== undefined)
      .map(
        ([name, value]) =>
          `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(String(value))}">`,
      )
      .join('')
    const people = world.users
      .filter(({ bot }) => !bot)
      .map(
        ({ id, username, about }) =>
          `<button name="user_id" value="${id}">Sign in as <b>${escapeHtml(username)}</b> — ${escapeHtml(about)}</button>`,
      )
      .join('')
    return `<p>This stands in for the chat platform. Scopes: ${escapeHtml(asked.scope)}.</p>
<form method="post" action="/chat/oauth2/authorize">${hidden}${people}<button name="user_id" value="">Cancel</button></form>`
  }
}
