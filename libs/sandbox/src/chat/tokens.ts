import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { World } from '../world.ts'
import type { ChatDeps } from './deps.ts'
import { type Grants, TOKEN_SECONDS } from './grants.ts'

/** A form holds texts only; an empty body is one without fields. */
const Form = z.record(z.string(), z.string())
const ByCode = z.object({
  grant_type: z.literal('authorization_code'),
  code: z.string(),
  redirect_uri: z.string(),
  code_verifier: z.string().optional(),
})
const ByRefresh = z.object({ grant_type: z.literal('refresh_token'), refresh_token: z.string() })
const GRANT_TYPES = ['authorization_code', 'refresh_token']
const Asked = z.discriminatedUnion('grant_type', [ByCode, ByRefresh])

/** Why a code was refused, in Discord's words. */
const REFUSED = {
  code: ['invalid_grant', 'Invalid "code" in request.'],
  redirect_uri: ['invalid_request', 'Invalid "redirect_uri" in request.'],
  no_code_verifier: ['invalid_request', 'Missing "code_verifier"'],
  code_verifier: ['invalid_grant', 'Invalid "code_verifier" in request.'],
} as const

/** Where a code or a refresh token becomes an access token (RFC 6749 § 4.1.3 and § 6, RFC 7636 § 4.5). */
export function tokenRoute(api: FastifyInstance, { world, grants }: ChatDeps) {
  api.post('/oauth2/token', (req, reply) => {
    const form = Form.safeParse(isForm(req) ? req.body : {}).data ?? {}
    const { grant_type = 'None' } = form
    if (!GRANT_TYPES.includes(grant_type)) {
      const description = `Grant type ${grant_type} is not supported`
      return refuseGrant(reply, 'unsupported_grant_type', description)
    }
    if (!isApplication(req, form, world)) return reply.code(401).send({ error: 'invalid_client' })
    const asked = Asked.safeParse(form)
    if (!asked.success) {
      const missing = String(asked.error.issues[0]?.path[0])
      return refuseGrant(reply, 'invalid_request', `Missing "${missing}" in request.`)
    }
    return answer(reply, redeem(grants, asked.data))
  })
}

/** Its credentials stand in a Basic header (RFC 7617) or in the form. */
function isApplication(
  { headers: { authorization = '' } }: FastifyRequest,
  { client_id, client_secret }: Record<string, string>,
  { application: { clientId, clientSecret } }: World,
) {
  const basic = /^Basic (.+)$/.exec(authorization)?.[1]
  const given = basic ? Buffer.from(basic, 'base64').toString() : `${client_id}:${client_secret}`
  return given === `${clientId}:${clientSecret}`
}

function redeem(grants: Grants, asked: z.output<typeof Asked>) {
  if (asked.grant_type === 'refresh_token') return grants.refresh(asked.refresh_token)
  const { code, redirect_uri: redirectUri, code_verifier: verifier } = asked
  return grants.redeem({ code, redirectUri, verifier })
}

function answer(reply: FastifyReply, made: ReturnType<typeof redeem>) {
  if (typeof made === 'string') {
    const [error, description] = REFUSED[made]
    return refuseGrant(reply, error, description)
  }
  if (!made) return refuseGrant(reply, 'invalid_grant', 'Invalid "refresh_token" in request.')
  return reply.header('cache-control', 'no-store').send({
    token_type: 'Bearer',
    access_token: made.token,
    expires_in: TOKEN_SECONDS,
    refresh_token: made.refreshToken,
    scope: made.scope,
  })
}

const isForm = ({ headers }: FastifyRequest) =>
  headers['content-type']?.startsWith('application/x-www-form-urlencoded')

const refuseGrant = (reply: FastifyReply, error: string, error_description: string) =>
  reply.code(400).send({ error, error_description })
