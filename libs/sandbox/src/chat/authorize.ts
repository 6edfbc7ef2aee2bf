import type { FastifyInstance, FastifyReply } from 'fastify'
import { z } from 'zod'
import { escapeHtml, PAGE_HEADERS, page } from '../html.ts'
import type { World } from '../world.ts'
import type { ChatDeps } from './deps.ts'

const PATH = '/chat/oauth2/authorize'

/** Scopes that the emulated API knows what to do with. */
const SCOPES = ['identify', 'guilds']

const Asked = z
  .object({
    client_id: z.string('client_id is missing'),
    redirect_uri: z.string('redirect_uri is missing'),
    response_type: z.literal('code', 'response_type must be code'),
    scope: z
      .string('scope is missing')
      .refine(
        (scope) => scope.split(' ').every((one) => SCOPES.includes(one)),
        `scope: the sandbox knows ${SCOPES.join(' and ')}`,
      ),
    state: z.string().optional(),
    code_challenge: z.string().optional(),
    code_challenge_method: z.literal('S256', 'code_challenge_method must be S256').optional(),
    prompt: z.enum(['none', 'consent'], 'prompt must be none or consent').optional(),
  })
  .refine(
    ({ code_challenge, code_challenge_method }) => !code_challenge === !code_challenge_method,
    'code_challenge and code_challenge_method=S256 go together',
  )
type Asked = z.output<typeof Asked>

/** Who the person is; empty where they cancelled. */
const Chosen = z.object({ user_id: z.string() })

interface Deps extends ChatDeps {
  redirectUris: readonly string[]
}

/** The page on which a person agrees to sign in; here anybody may be anybody. */
export function authorizePage(app: FastifyInstance, { world, grants, redirectUris }: Deps) {
  app.get(PATH, (req, reply) => {
    const asked = read(req.query)
    if (typeof asked === 'string') return refusePage(reply, asked)
    return reply.headers(PAGE_HEADERS).send(page('Sign in (sandbox)', choice(asked, world)))
  })

  app.post(PATH, (req, reply) => {
    const asked = read(req.body)
    if (typeof asked === 'string') return refusePage(reply, asked)
    const chosen = Chosen.safeParse(req.body).data?.user_id
    if (chosen === '') return reply.redirect(backTo(asked, CANCELLED))
    const user = world.users.find(({ id, bot }) => id === chosen && !bot)
    if (!user) return refusePage(reply, 'user_id is nobody in the sandbox')
    const { redirect_uri: redirectUri, scope, code_challenge: challenge } = asked
    const code = grants.makeCode({ userId: user.id, scope, redirectUri, challenge })
    return reply.redirect(backTo(asked, { code }))
  })

  /** What is asked for, or why not in a sentence. An address that is not registered is never redirected to. */
  function read(values: unknown): Asked | string {
    const asked = Asked.safeParse(values)
    if (!asked.success) return asked.error.issues[0]?.message ?? 'Invalid request'
    if (asked.data.client_id !== world.application.clientId) return 'Unknown Application'
    if (!redirectUris.includes(asked.data.redirect_uri)) return 'Invalid OAuth2 redirect_uri'
    return asked.data
  }
}

const CANCELLED = {
  error: 'access_denied',
  error_description: 'The resource owner or authorization server denied the request',
}

function backTo({ redirect_uri, state }: Asked, params: Record<string, string>) {
  const back = new URL(redirect_uri)
  for (const [name, value] of Object.entries(params)) back.searchParams.set(name, value)
  if (state !== undefined) back.searchParams.set('state', state)
  return back.href
}

function refusePage(reply: FastifyReply, why: string) {
  const body = `<p role="alert">${escapeHtml(why)}</p>`
  return reply.code(400).headers(PAGE_HEADERS).send(page('Invalid sign-in', body))
}

/** A form with a button for each person and one to cancel. */
function choice(asked: Asked, { users }: World) {
  const hidden = Object.entries(asked).map(
    ([name, value]) => `<input type="hidden" name="${name}" value="${escapeHtml(String(value))}">`,
  )
  const people = users
    .filter(({ bot }) => !bot)
    .map(({ id, name, about }) => button(id, `Sign in as ${name} (${about})`))
  return `<p>This stands in for the chat platform. The application asks for: ${escapeHtml(asked.scope)}.</p>
<form method="post" action="${PATH}">${hidden.join('')}${people.join('')}${button('', 'Cancel')}</form>`
}

const button = (userId: string, label: string) =>
  `<button name="user_id" value="${escapeHtml(userId)}">${escapeHtml(label)}</button>`
