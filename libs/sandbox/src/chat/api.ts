import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Guild, Role, World, WorldUser } from '../world.ts'
import { type Grants, TOKEN_SECONDS } from './grants.ts'

/** Discord's JSON error codes. */
const UNKNOWN = {
  guild: [10_004, 'Unknown Guild'],
  member: [10_007, 'Unknown Member'],
  user: [10_013, 'Unknown User'],
} as const
const SLOW_MS = 10_000
const JOINED = '2024-09-01T12:00:00.000000+00:00'

const TokenRequest = z.object({
  grant_type: z.literal('authorization_code'),
  code: z.string(),
  redirect_uri: z.string(),
  client_id: z.string().optional(),
  client_secret: z.string().optional(),
  code_verifier: z.string().optional(),
})

interface Deps {
  world: World
  grants: Grants
}

/** The part of Discord's REST API v10 that Guildhall uses. */
export function chatApi(app: FastifyInstance, deps: Deps) {
  app.register(
    async (api) => {
      api.addHook('onRequest', async (_req, reply) => {
        await fail(deps.world, reply)
      })
      tokenRoute(api, deps)
      userRoutes(api, deps)
      guildRoutes(api, deps)
    },
    { prefix: '/chat/api/v10' },
  )
}

/** Answers as the world says a faulty platform would; rate-limit headers stand on every answer. */
async function fail({ faults }: World, reply: FastifyReply) {
  const limited = faults.chat === 'rate_limited'
  reply.headers({
    'x-ratelimit-limit': '50',
    'x-ratelimit-remaining': limited ? '0' : '49',
    'x-ratelimit-reset-after': '1.000',
    'x-ratelimit-bucket': 'sandbox',
  })
  if (faults.chat === 'slow') await wait(SLOW_MS, undefined, { ref: false })
  if (faults.chat === 'down')
    return reply.code(503).send({ message: 'Service Unavailable', code: 0 })
  if (limited) {
    const body = { message: 'You are being rate limited.', retry_after: 1, global: false }
    return reply.code(429).header('retry-after', '1').send(body)
  }
}

function tokenRoute(api: FastifyInstance, { world, grants }: Deps) {
  api.post('/oauth2/token', async (req, reply) => {
    const asked = TokenRequest.safeParse(req.body)
    if (!asked.success)
      return reply.code(400).send({
        error: 'unsupported_grant_type',
        error_description: 'Grant type None is not supported',
      })
    const { code, redirect_uri, code_verifier } = asked.data
    const [id, secret] = basic(req) ?? [asked.data.client_id, asked.data.client_secret]
    const { clientId, clientSecret } = world.application
    if (id !== clientId || secret !== clientSecret)
      return reply.code(401).send({ error: 'invalid_client' })
    const made = grants.redeem(code, redirect_uri, code_verifier)
    if (!made)
      return reply
        .code(400)
        .send({ error: 'invalid_grant', error_description: 'Invalid "code" in request.' })
    return {
      token_type: 'Bearer',
      access_token: made.token,
      expires_in: TOKEN_SECONDS,
      refresh_token: `${made.token}r`,
      scope: made.scope,
    }
  })
}

/** RFC 7617. */
function basic({ headers: { authorization = '' } }: FastifyRequest) {
  const encoded = /^Basic (.+)$/.exec(authorization)?.[1]
  return encoded && Buffer.from(encoded, 'base64').toString().split(':')
}

function userRoutes(api: FastifyInstance, { world, grants }: Deps) {
  api.get('/users/@me', async (req, reply) => {
    const who = whoAsks(req, { world, grants })
    if (!who) return unauthorized(reply)
    const user = world.users.find((one) => (who.bot ? one.bot : one.id === who.userId))
    return user ? shownUser(user) : unauthorized(reply)
  })
  api.get('/users/@me/guilds', async (req, reply) => {
    const who = whoAsks(req, { world, grants })
    if (!who) return unauthorized(reply)
    if (!who.bot && !who.scope.split(' ').includes('guilds')) return unauthorized(reply)
    return world.guilds
      .filter((guild) => who.bot || guild.members.some(({ userId }) => userId === who.userId))
      .map((guild) => shownPartialGuild(guild, who.bot ? '' : who.userId))
  })
  api.get<{ Params: { id: string } }>('/users/:id', async (req, reply) => {
    if (!whoAsks(req, { world, grants })?.bot) return unauthorized(reply)
    const user = world.users.find(({ id }) => id === req.params.id)
    return user ? shownUser(user) : unknown(reply, 'user')
  })
}

interface GuildRequest {
  Params: { id: string; user: string }
  Querystring: { limit?: string; after?: string; query?: string }
}

function guildRoutes(api: FastifyInstance, { world, grants }: Deps) {
  const route = (
    path: string,
    answer: (guild: Guild, req: FastifyRequest<GuildRequest>, reply: FastifyReply) => unknown,
  ) =>
    api.get<GuildRequest>(path, async (req, reply) => {
      if (!whoAsks(req, { world, grants })?.bot) return unauthorized(reply)
      const guild = world.guilds.find(({ id }) => id === req.params.id)
      return guild ? answer(guild, req, reply) : unknown(reply, 'guild')
    })
  const shown = (guild: Guild, member: Guild['members'][number]) =>
    shownMember(
      member,
      world.users.find(({ id }) => id === member.userId),
      guild,
    )

  route('/guilds/:id/roles', (guild) => guild.roles.map(shownRole))
  route('/guilds/:id/members', (guild, { query: { limit = '1', after = '0' } }) =>
    guild.members
      .toSorted((a, b) => Number(BigInt(a.userId) - BigInt(b.userId)))
      .filter(({ userId }) => BigInt(userId) > BigInt(after))
      .slice(0, Number(limit))
      .map((member) => shown(guild, member)),
  )
  route('/guilds/:id/members/search', (guild, { query: { query = '', limit = '1' } }) =>
    guild.members
      .map((member) => shown(guild, member))
      .filter(({ nick, user }) =>
        [nick, user.username].some((name) => name?.toLowerCase().startsWith(query.toLowerCase())),
      )
      .slice(0, Number(limit)),
  )
  route('/guilds/:id/members/:user', (guild, { params: { user } }, reply) => {
    const member = guild.members.find(({ userId }) => userId === user)
    return member ? shown(guild, member) : unknown(reply, 'member')
  })
}

/** The bot, or the user of a bearer token. */
function whoAsks({ headers: { authorization = '' } }: FastifyRequest, { world, grants }: Deps) {
  if (authorization === `Bot ${world.application.botToken}`) return { bot: true as const }
  const found = authorization.startsWith('Bearer ')
    ? grants.find(authorization.slice('Bearer '.length))
    : undefined
  return found && { bot: false as const, ...found }
}

const unauthorized = (reply: FastifyReply) =>
  reply.code(401).send({ message: '401: Unauthorized', code: 0 })
function unknown(reply: FastifyReply, what: keyof typeof UNKNOWN) {
  const [code, message] = UNKNOWN[what]
  return reply.code(404).send({ message, code })
}

const shownUser = ({ id, username, bot }: WorldUser) => ({
  id,
  username,
  discriminator: '0',
  global_name: username,
  avatar: null,
  public_flags: 0,
  flags: 0,
  ...(bot && { bot }),
})

const shownRole = ({ id, name, position, managed }: Role) => ({
  id,
  name,
  position,
  managed: managed ?? false,
  description: null,
  permissions: '0',
  color: 0,
  colors: { primary_color: 0, secondary_color: null, tertiary_color: null },
  hoist: false,
  icon: null,
  unicode_emoji: null,
  mentionable: false,
  flags: 0,
})

const shownPartialGuild = ({ id, name, ownerId }: Guild, userId: string) => ({
  id,
  name,
  icon: null,
  banner: null,
  owner: ownerId === userId,
  permissions: '0',
  features: [],
})

function shownMember(
  { nick, roleIds }: Guild['members'][number],
  user: WorldUser | undefined,
  _guild: Guild,
) {
  return {
    user: shownUser(user ?? { id: '0', username: 'deleted', about: '' }),
    nick: nick ?? null,
    avatar: null,
    banner: null,
    roles: roleIds,
    joined_at: JOINED,
    premium_since: null,
    communication_disabled_until: null,
    pending: false,
    deaf: false,
    mute: false,
    flags: 0,
  }
}
