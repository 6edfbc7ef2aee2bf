import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { z } from 'zod'
import type { IdentityUser, World } from '../world.ts'

/** As long as the identity provider's own session tokens count. */
const TOKEN_SECONDS = 60
const ALG = 'RS256'

export type Identity = ReturnType<typeof createIdentity>

/**
 * The key of the emulated identity provider, made when it is first asked for, and the session tokens that its browser
 * client would hold.
 */
export function createIdentity(world: World) {
  let made: ReturnType<typeof generateKeyPair> | undefined
  const pair = () => (made ??= generateKeyPair(ALG))
  const kid = `ins_${crypto.randomUUID()}`
  return {
    async jwks() {
      return {
        keys: [{ ...(await exportJWK((await pair()).publicKey)), kid, alg: ALG, use: 'sig' }],
      }
    },
    /** A session token of this person; `claims` replace those that it would have. */
    async token(subject: string, claims: JWTPayload = {}): Promise<string> {
      const now = Math.floor(Date.now() / 1000)
      const own = { azp: world.identity.authorizedParty, sid: `sess_${subject}`, v: 2 }
      const times = { iat: now, nbf: now, exp: now + TOKEN_SECONDS }
      const payload = { iss: world.identity.issuer, sub: subject, ...own, ...times, ...claims }
      const { privateKey } = await pair()
      return new SignJWT(payload).setProtectedHeader({ alg: ALG, kid, typ: 'JWT' }).sign(privateKey)
    },
  }
}

/** The API of the identity provider (Clerk, `/v1`): its keys and its users; and tokens for anybody who asks. */
export function identityRoutes(app: FastifyInstance, world: World, identity: Identity) {
  const guard = async (req: FastifyRequest, reply: FastifyReply) => {
    world.identity.asked++
    if (world.faults.identity === 'hangs') return new Promise<never>(() => undefined)
    if (world.faults.identity === 'down') return refuse(reply, 503, 'service_unavailable')
    const sent = req.headers.authorization === `Bearer ${world.identity.secretKey}`
    return sent ? undefined : refuse(reply, 401, 'authorization_invalid')
  }
  // the official client reads no JSON from an answer whose type says more than this
  const onSend = async (_req: FastifyRequest, reply: FastifyReply) => {
    reply.header('content-type', 'application/json')
  }
  const api = { preHandler: guard, onSend }
  app.get('/identity/v1/jwks', api, () => identity.jwks())
  app.get('/identity/v1/users/:id', api, async (req, reply) => {
    const { id } = z.object({ id: z.string() }).parse(req.params)
    const user = world.identity.users.find((one) => one.id === id)
    return user ? shown(user) : refuse(reply, 404, 'resource_not_found')
  })
  app.get('/identity/token', async (req, reply) => {
    const asked = z.object({ user_id: z.string() }).safeParse(req.query)
    const user = world.identity.users.find(({ id }) => id === asked.data?.user_id)
    if (!user) return refuse(reply, 404, 'resource_not_found')
    return { token: await identity.token(user.id), expires_in: TOKEN_SECONDS }
  })
}

function shown({ id, email, verified }: IdentityUser) {
  const status = verified ? 'verified' : 'unverified'
  const address = {
    id: `idn_${id}`,
    object: 'email_address',
    email_address: email,
    reserved: false,
    verification: { status, strategy: 'email_code', attempts: 1, expire_at: null },
    linked_to: [],
  }
  return {
    id,
    object: 'user',
    username: null,
    first_name: null,
    last_name: null,
    primary_email_address_id: address.id,
    email_addresses: [address],
    phone_numbers: [],
    web3_wallets: [],
    external_accounts: [],
    enterprise_accounts: [],
    public_metadata: {},
    private_metadata: {},
    unsafe_metadata: {},
  }
}

const refuse = (reply: FastifyReply, status: number, code: string) =>
  reply.code(status).send({ errors: [{ code, message: code.replaceAll('_', ' ') }] })
