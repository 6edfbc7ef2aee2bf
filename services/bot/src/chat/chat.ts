import { setTimeout as wait } from 'node:timers/promises'
import { AppError } from '@guildhall/service/errors'
import type { Log } from '@guildhall/service/log'
import {
  type ChatInputCommandInteraction,
  Client,
  type CloseEvent,
  DiscordjsErrorCodes,
  Events,
  GatewayCloseCodes,
  GatewayIntentBits,
} from 'discord.js'
import { definitions } from '../commands/definitions.ts'

/** How soon a connection that could not be made, or was ended for good, is tried again. */
const AGAIN_MS = 30_000

interface ChatOptions {
  token: string | undefined
  /** Base URL of the chat platform's REST API; it says where its gateway is. */
  api: string
  log: Log
  /** Never throws. */
  answer(interaction: ChatInputCommandInteraction): Promise<void>
  againMs?: number
}

export type Chat = ReturnType<typeof createChat>

/**
 * The bot's connection to the chat platform (Discord v10). Heartbeats, resumes and rate limits are the official
 * client's; a connection that the platform ended for good, or refused, is made anew here.
 */
export function createChat({ token, api, log, answer, againMs = AGAIN_MS }: ChatOptions) {
  let connected: Client<true> | undefined
  /** Why it does not work; nothing while it connects for the first time. */
  let fault: string | undefined
  const inHand = new Set<Promise<void>>()

  function failed(why: string, error?: unknown) {
    connected = undefined
    if (fault !== why) log.error({ err: error }, why) // once, however often it is tried
    fault = why
  }

  function listen(client: Client, end: () => void) {
    client.on(Events.ClientReady, (ready) => {
      connected = ready
      log.info({ guilds: ready.guilds.cache.size }, 'Connected to the chat platform')
      register(ready).catch(end)
    })
    client.on(Events.InteractionCreate, (interaction) => {
      if (!interaction.isChatInputCommand()) return
      const work = answer(interaction).finally(() => inHand.delete(work))
      inHand.add(work)
    })
    client.on(Events.ShardReconnecting, () => {
      fault ??= 'the connection to the chat platform was lost; it is made again'
    })
    const works = () => {
      fault = undefined
    }
    client.on(Events.ShardResume, works)
    client.on(Events.ShardReady, works) // a session that was not resumed is a new one
    client.on(Events.ShardDisconnect, (event) => {
      failed(whyEnded(event))
      end()
    })
    // without these an error of the connection is an uncaught one; the client connects again
    client.on(Events.Error, (err) => log.warn({ err }, 'The chat client met an error'))
    client.on(Events.ShardError, (err) => log.warn({ err }, 'The chat connection met an error'))
  }

  async function register(client: Client<true>) {
    try {
      await client.application.commands.set(definitions)
    } catch (error) {
      failed('The chat platform did not take the commands of the bot; it is tried again', error)
      throw error
    }
  }

  /** One connection, until it is ended for good or the signal aborts. */
  async function connection(signal: AbortSignal) {
    const client = new Client({
      intents: [GatewayIntentBits.Guilds],
      rest: { api },
      allowedMentions: { parse: [] },
    })
    const ended = Promise.withResolvers<void>()
    const end = () => ended.resolve()
    signal.addEventListener('abort', end)
    listen(client, end)
    try {
      await Promise.race([client.login(token), ended.promise])
      await ended.promise
    } catch (error) {
      failed(whyRefused(error), error)
    } finally {
      signal.removeEventListener('abort', end)
      await Promise.allSettled(inHand)
      connected = undefined
      await client.destroy()
    }
  }

  return {
    /** The connected client. Throws `bot.no_token` or `bot.unconnected` where there is none. */
    client(): Client<true> {
      if (token === undefined) throw noToken()
      if (!connected) throw unconnected()
      return connected
    },
    missing: () => fault,
    /** Stays connected until the signal aborts. */
    async run(signal: AbortSignal) {
      while (!signal.aborted) {
        await connection(signal)
        await wait(againMs, undefined, { signal }).catch(() => {})
      }
    },
  }
}

const NOT_ACCEPTED =
  'The chat platform does not accept BOT_TOKEN; make a new token, set it and start the bot again'

function whyRefused(error: unknown): string {
  const { code } = error as { code?: unknown }
  return code === DiscordjsErrorCodes.TokenInvalid
    ? NOT_ACCEPTED
    : 'The chat platform cannot be reached; it is tried again'
}

function whyEnded({ code }: CloseEvent): string {
  return code === GatewayCloseCodes.AuthenticationFailed
    ? NOT_ACCEPTED
    : `The chat platform ended the connection for good (code ${code}); it is made anew`
}

const noToken = () =>
  new AppError(
    'unavailable',
    'bot.no_token',
    'This deployment has no chat bot; its operator sets BOT_TOKEN',
  )

const unconnected = () =>
  new AppError(
    'unavailable',
    'bot.unconnected',
    'The bot is not connected to the chat platform at the moment; try again in a minute',
  )
