import { randomBytes } from 'node:crypto'
import type { Guild, World } from '../world.ts'
import type { Message } from './commands.ts'
import type { Gateway } from './gateway.ts'
import { shownChannel } from './gateway-shapes.ts'
import { newMessage, newSnowflake } from './messages.ts'
import { shownMember, shownUser } from './shapes.ts'

/** How long the platform waits for a first answer. */
const ACKNOWLEDGE_MS = 3_000
/** How long who types waits for the text. */
const PATIENCE_MS = 25_000
const EPHEMERAL = 64
const STRING = 3

export interface Typed {
  guildId: string
  userId: string
  name: string
  /** Its options, all of them texts. */
  options?: Record<string, string>
}

/** What became of a command that somebody typed. */
export interface Answered {
  content: string
  /** The one who typed it alone sees it. */
  ephemeral: boolean
  allowed_mentions: { parse: string[] } | undefined
  /** How soon the first answer came. */
  acknowledgedMs: number
}

interface Interaction {
  id: string
  token: string
  channelId: string
  begun: number
  acknowledgedMs?: number
  flags: number
  done: PromiseWithResolvers<Answered>
}

export type Interactions = ReturnType<typeof createInteractions>

/** Commands that somebody typed, until the bot has answered them. */
export function createInteractions({ world, gateway }: { world: World; gateway: Gateway }) {
  const open = new Map<string, Interaction>()

  function finish(interaction: Interaction, message: Message) {
    const { flags, acknowledgedMs = 0, channelId } = interaction
    const { content, allowed_mentions } = newMessage(channelId, message)
    const ephemeral = (flags & EPHEMERAL) !== 0
    interaction.done.resolve({ content, ephemeral, allowed_mentions, acknowledgedMs })
  }

  return {
    /** Types a command; `answered` throws where nothing answers in time. */
    type(typed: Typed) {
      const id = newSnowflake()
      const token = randomBytes(32).toString('base64url')
      const guild = world.guilds.find((one) => one.id === typed.guildId)
      const channelId = guild?.channels?.[0]?.id ?? typed.guildId
      const done = Promise.withResolvers<Answered>()
      const late = () => done.reject(new Error(`Nothing answered /${typed.name}`))
      setTimeout(late, PATIENCE_MS).unref()
      open.set(token, { id, token, channelId, begun: performance.now(), flags: 0, done })
      gateway.dispatch('INTERACTION_CREATE', shownInteraction(typed, { id, token, guild, world }))
      return { id, token, answered: done.promise }
    },

    /** The first answer. Answers why it is refused, if it is. */
    acknowledge(
      { id, token }: { id: string; token: string },
      { flags, text }: { flags: number; text: Message | undefined },
    ) {
      const interaction = open.get(token)
      if (interaction?.id !== id) return 'unknown_interaction'
      const ms = performance.now() - interaction.begun
      if (ms > ACKNOWLEDGE_MS) return 'unknown_interaction'
      if (interaction.acknowledgedMs !== undefined) return 'already_acknowledged'
      Object.assign(interaction, { acknowledgedMs: ms, flags })
      if (text) finish(interaction, text)
      return undefined
    },

    /** The text after a deferred answer; nothing where there was none. */
    edit({ id, token }: { id: string; token: string }, message: Message) {
      const interaction = open.get(token)
      if (id !== world.application.clientId || interaction?.acknowledgedMs === undefined)
        return undefined
      finish(interaction, message)
      return newMessage(interaction.channelId, message)
    },
  }
}

interface Shown {
  id: string
  token: string
  guild: Guild | undefined
  world: World
}

/** The event INTERACTION_CREATE of a command. */
function shownInteraction(
  { guildId, userId, name, options = {} }: Typed,
  { id, token, guild, world }: Shown,
) {
  const user = world.users.find((one) => one.id === userId)
  const member = guild?.members.find((one) => one.userId === userId) ?? { userId, roleIds: [] }
  const channel = guild?.channels?.[0] ?? { id: guildId, name: 'general', messages: [] }
  return {
    id,
    application_id: world.application.clientId,
    type: 2,
    version: 1,
    token,
    guild_id: guildId,
    channel_id: channel.id,
    channel: guild && shownChannel(channel, guild),
    member: { ...shownMember(member, world), permissions: '0' },
    user: user && shownUser(user),
    locale: 'en-US',
    guild_locale: 'en-US',
    app_permissions: '3072',
    context: 0,
    authorizing_integration_owners: { '0': guildId },
    entitlements: [],
    attachment_size_limit: 10_485_760,
    data: {
      id: '584402700000000001',
      type: 1,
      name,
      options: Object.entries(options).map(([option, value]) => ({
        name: option,
        type: STRING,
        value,
      })),
    },
  }
}
