import { RateLimitError, REST, type RouteLike } from '@discordjs/rest'
import { AppError } from '@guildhall/service/errors'
import { Routes } from 'discord-api-types/v10'
import { z } from 'zod'
import type { Config } from '../config.ts'
import { type ChatMember, chatMember } from './chat-member.ts'
import { createSend, rateLimited } from './send.ts'
import { Granted, Guild, GuildMember, User } from './shapes.ts'

/** Of one answer; a decision that waits for it must come within the call's deadline. */
const TIMEOUT_MS = 4_000
const UNKNOWN_MEMBER = 10_007
const UNKNOWN_USER = 10_013
/** JSON error codes of a server that the bot is not on. Missing access also stands for a missing privilege. */
export const OUT_OF_REACH = [10_004, 50_001]
const NO_MEMBER = [UNKNOWN_MEMBER, UNKNOWN_USER, ...OUT_OF_REACH]

export interface ChatUser {
  id: string
  username: string
}

interface SignedIn {
  code: string
  /** The PKCE verifier. */
  verifier: string
  /** As it was sent to the authorize page. */
  redirectUri: string
  /** Needs the scope `guilds`. */
  servers: boolean
}

export type Chat = ReturnType<typeof createChat>

type Settings = Pick<Config, 'CHAT_API_URL' | 'BOT_TOKEN' | 'CLIENT_ID' | 'CLIENT_SECRET'>

/**
 * The chat platform over its REST API (Discord v10). Throws `chat.unavailable` where it does not answer, or answers
 * what cannot be read.
 */
export function createChat(config: Settings) {
  const { CHAT_API_URL, BOT_TOKEN, CLIENT_ID, CLIENT_SECRET } = config
  // a person waits: a limited or slow platform is one that does not answer
  const options = {
    api: CHAT_API_URL,
    version: '10',
    timeout: TIMEOUT_MS,
    retries: 0,
    rejectOnRateLimit: () => true,
    makeRequest: createSend(),
  }
  const bot = new REST(options)

  /** What the bot reads. Throws what client and schema throw: `codeOf` and `chatFailure` tell what it means. */
  async function read<S extends z.ZodType>(
    schema: S,
    route: RouteLike,
    query: Record<string, string> = {},
  ): Promise<z.output<S>> {
    if (!BOT_TOKEN) throw notSetUp('BOT_TOKEN')
    bot.setToken(BOT_TOKEN) // the client forgets it after a 401
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    return schema.parse(await bot.get(route, { query: new URLSearchParams(query), signal }))
  }

  return {
    read,

    /** A member of a server, or nothing where the user is not on it. */
    async member(serverId: string, userId: string): Promise<ChatMember | undefined> {
      try {
        const member = await read(GuildMember, Routes.guildMember(serverId, userId))
        return chatMember(serverId, member)
      } catch (error) {
        if (NO_MEMBER.includes(codeOf(error))) return undefined
        throw chatFailure(error)
      }
    },

    /** Who signed in with this code, and the servers they are on where these are asked for. */
    async signedIn({
      code,
      verifier,
      redirectUri,
      servers,
    }: SignedIn): Promise<{ user: ChatUser; serverIds: string[] }> {
      if (!CLIENT_ID || !CLIENT_SECRET) throw notSetUp('CLIENT_ID and CLIENT_SECRET')
      const rest = new REST({ ...options, authPrefix: 'Bearer' })
      const body = new URLSearchParams({
        grant_type: 'authorization_code',
        code,
        redirect_uri: redirectUri,
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        code_verifier: verifier,
      })
      try {
        const granted = await rest.post(Routes.oauth2TokenExchange(), {
          body,
          passThroughBody: true,
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          auth: false,
        })
        rest.setToken(Granted.parse(granted).access_token)
        const [user, guilds] = await Promise.all([
          rest.get(Routes.user()),
          servers ? rest.get(Routes.userGuilds()) : [],
        ])
        const { id, username } = User.parse(user)
        const serverIds = z
          .array(Guild)
          .parse(guilds)
          .map((guild) => guild.id)
        return { user: { id, username }, serverIds }
      } catch (error) {
        throw isRefusal(error) ? refused(error) : chatFailure(error)
      }
    },
  }
}

/** 400 on the token exchange means this code; anything else the platform or our set-up. */
const isRefusal = (error: unknown) => (error as { status?: number }).status === 400

/** What a browser is told by a redirect: the platform's refusal of a sign-in. Throws any other error. */
export function refusalOf(error: unknown): AppError {
  if (error instanceof AppError && error.code === REFUSED) return error
  throw error
}

const REFUSED = 'sign_in.refused'
const refused = (cause: unknown) =>
  new AppError('invalid', REFUSED, 'The chat platform did not accept this sign-in; start again', {
    cause,
  })
/** The JSON error code of the platform's refusal; NaN for any other failure. */
export const codeOf = (error: unknown) => Number((error as { code?: number | string }).code)

/** What a failed request to the platform means to who asked. */
export function chatFailure(error: unknown): AppError {
  if (error instanceof AppError) return error
  if (!(error instanceof RateLimitError)) return chatUnavailable(error)
  return rateLimited(Math.max(error.timeToReset, error.retryAfter), error)
}

/** What callers are told while the platform is away. */
export const chatUnavailable = (cause?: unknown) =>
  new AppError(
    'unavailable',
    'chat.unavailable',
    'The chat platform does not answer; try again in a minute',
    { cause },
  )
const notSetUp = (names: string) =>
  new AppError('unavailable', 'chat.not_set_up', `The chat platform is not set up: set ${names}`)
