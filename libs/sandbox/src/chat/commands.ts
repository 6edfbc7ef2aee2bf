import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { World } from '../world.ts'
import { isBot } from './caller.ts'
import type { ChatDeps } from './deps.ts'
import type { Gateway } from './gateway.ts'
import type { Interactions } from './interactions.ts'
import { newMessage, shownMessage } from './messages.ts'
import { Snowflake } from './page.ts'
import { refuse } from './refuse.ts'

interface Deps extends ChatDeps {
  gateway: Gateway
  interactions: Interactions
}

const SESSION_STARTS = { total: 1000, remaining: 1000, reset_after: 86_400_000, max_concurrency: 1 }
const CHAT_INPUT = 1
/** Of an answer to a command (Discord's reference, Interaction Callback Type). */
const CALLBACK = { message: 4, deferred: 5 }
const ORIGINAL = '@original'

const Name = z.string().regex(/^[-_\p{Ll}\p{N}]{1,32}$/u)
const Text = z.string().min(1).max(100)
const Option = z.looseObject({ type: z.int(), name: Name, description: Text })
const Commands = z
  .array(
    z.object({
      type: z.literal(CHAT_INPUT).default(CHAT_INPUT),
      name: Name,
      description: Text,
      options: z.array(Option).max(25).nullish(),
      contexts: z.array(z.int()).nullish(),
      integration_types: z.array(z.int()).nullish(),
    }),
  )
  .max(100)

/** Text of 2 000 characters, whom it pings, and flags. */
export const Message = z.object({
  content: z.string().min(1).max(2000),
  allowed_mentions: z.object({ parse: z.array(z.string()) }).nullish(),
  flags: z.int().nullish(),
  nonce: z.union([z.string().max(25), z.int()]).nullish(),
  enforce_nonce: z.boolean().nullish(),
})
export type Message = z.output<typeof Message>
const Callback = z.discriminatedUnion('type', [
  z.object({ type: z.literal(CALLBACK.message), data: Message }),
  z.object({
    type: z.literal(CALLBACK.deferred),
    data: z.object({ flags: z.int().nullish() }).nullish(),
  }),
])

/** What a bot with commands uses: where its gateway is, its commands, answers to them, and messages. */
export function commandRoutes(api: FastifyInstance, deps: Deps) {
  const { world, gateway, interactions } = deps

  api.get('/gateway/bot', (req, reply) => {
    if (!isBot(req, deps)) return refuse(reply, 'unauthorized')
    return reply.send({ url: gateway.url(), shards: 1, session_start_limit: SESSION_STARTS })
  })

  api.put('/applications/:application_id/commands', (req, reply) => {
    const { application_id } = req.params as { application_id: string }
    if (!isBot(req, deps)) return refuse(reply, 'unauthorized')
    if (application_id !== world.application.clientId) return refuse(reply, 'missing_access')
    const { data } = Commands.safeParse(req.body)
    if (!data) return refuse(reply, 'invalid_form')
    world.application.commands = data.map(({ name }) => name)
    return reply.send(data.map((one, n) => shownCommand(one, n, world)))
  })

  // the token in the path is the credential of these two
  interface OfInteraction {
    Params: { id: string; token: string }
  }
  interface OfMessage {
    Params: OfInteraction['Params'] & { message_id: string }
  }
  api.post<OfInteraction>('/interactions/:id/:token/callback', (req, reply) => {
    const { data } = Callback.safeParse(req.body)
    if (!data) return refuse(reply, 'invalid_form')
    const flags = data.data?.flags ?? 0
    const text = data.type === CALLBACK.message ? (data.data as Message) : undefined
    const refusal = interactions.acknowledge(req.params, { flags, text })
    return refusal ? refuse(reply, refusal) : reply.code(204).send()
  })

  api.patch<OfMessage>('/webhooks/:id/:token/messages/:message_id', (req, reply) => {
    if (req.params.message_id !== ORIGINAL) return refuse(reply, 'not_found')
    const { data } = Message.safeParse(req.body)
    if (!data) return refuse(reply, 'invalid_form')
    const message = interactions.edit(req.params, data)
    return message ? reply.send(shownMessage(message, world)) : refuse(reply, 'unknown_webhook')
  })

  api.post('/channels/:channel_id/messages', (req, reply) => postMessage(req, reply, deps))
}

function postMessage(req: FastifyRequest, reply: FastifyReply, deps: Deps) {
  const { world } = deps
  if (!isBot(req, deps)) return refuse(reply, 'unauthorized')
  const id = Snowflake.safeParse((req.params as { channel_id: string }).channel_id)
  const channel = world.guilds
    .flatMap(({ channels = [] }) => channels)
    .find((one) => one.id === id.data)
  if (!channel) return refuse(reply, 'unknown_channel')
  if (channel.closed) return refuse(reply, 'missing_permissions')
  const { data } = Message.safeParse(req.body)
  if (!data) return refuse(reply, 'invalid_form')
  const before = data.enforce_nonce
    ? channel.messages.find(({ nonce }) => nonce === data.nonce)
    : undefined
  if (before) return reply.send(shownMessage(before, world))
  if (channel.fault === 'hangs') return reply.hijack()
  const message = newMessage(channel.id, data)
  channel.messages.push(message)
  if (channel.fault === 'hangs_after') return reply.hijack() // kept, and nobody is told
  if (channel.fault === 'fails_once_after') {
    channel.fault = undefined
    return refuse(reply, 'down')
  }
  return reply.send(shownMessage(message, world))
}

const shownCommand = (
  command: z.output<typeof Commands>[number],
  n: number,
  { application }: World,
) => ({
  id: String(584_402_700_000_000_001n + BigInt(n)),
  application_id: application.clientId,
  version: '584402700000000100',
  default_member_permissions: null,
  dm_permission: false,
  nsfw: false,
  ...command,
  contexts: command.contexts ?? null,
  integration_types: command.integration_types ?? [0],
  options: command.options ?? [],
})
