import type { FastifyInstance } from 'fastify'
import { jwtVerify, SignJWT } from 'jose'
import { z } from 'zod'
import type { World } from '../world.ts'

const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const AUDIENCE = 'https://oauth2.googleapis.com/token'
const SCOPE = 'https://www.googleapis.com/auth/calendar'
const SECONDS = 3_600
const Asked = z.object({ grant_type: z.literal(GRANT), assertion: z.string() })

/** Access tokens of a service account, for what it has signed (RFC 7523). */
export function tokenRoute(app: FastifyInstance, { world }: { world: World }, secret: Uint8Array) {
  app.post('/google/token', async (req, reply) => {
    const asked = Asked.safeParse(req.body)
    const refuse = (error: string) => reply.code(400).send({ error, error_description: error })
    if (!asked.success) return refuse('unsupported_grant_type')
    const { account } = world.calendar
    try {
      const { payload } = await jwtVerify(asked.data.assertion, account.publicKey(), {
        issuer: account.email,
        audience: AUDIENCE,
      })
      if (payload.scope !== SCOPE) return refuse('invalid_scope')
    } catch {
      return refuse('invalid_grant')
    }
    const token = await new SignJWT({ sub: account.email })
      .setProtectedHeader({ alg: 'HS256' })
      .setExpirationTime(`${SECONDS}s`)
      .sign(secret)
    return { access_token: token, expires_in: SECONDS, token_type: 'Bearer' }
  })
}

export async function isToken(secret: Uint8Array, authorization: string | undefined) {
  const token = /^Bearer (.+)$/.exec(authorization ?? '')?.[1]
  if (!token) return false
  return jwtVerify(token, secret).then(
    () => true,
    () => false,
  )
}
