import { REST, type RouteLike } from '@discordjs/rest'
import { AppError } from '@guildhall/service/errors'
import {
  type APIGuildMember,
  type APIUser,
  type RESTGetAPICurrentUserGuildsResult,
  type RESTPostOAuth2AccessTokenResult,
  Routes,
} from 'discord-api-types/v10'
import type { Config } from '../config.ts'

/** Of one answer; a decision that waits for it must come within the call's deadline. */
const TIMEOUT_MS = 4_000
const UNKNOWN_MEMBER = 10_007
const UNKNOWN_USER = 10_013
/** JSON error codes of a server that the bot is not on. */
export const OUT_OF_REACH = [10_004, 50_001]
const NO_MEMBER = [UNKNOWN_MEMBER, UNKNOWN_USER, ...OUT_OF_REACH]

export interface ChatUser {
  id: string
  username: string
}

export type Chat = ReturnType<typeof createChat>

/** The chat platform over its REST API (Discord v10). Throws `chat.unavailable` where it does not answer. */
export function createChat(config: Config) {
  const { CHAT_API_URL, BOT_TOKEN, CLIENT_ID, CLIENT_SECRET, REDIRECT_URI } = config
  // a person waits: a limited or slow platform is one that does not answer
  const options = {
    api: CHAT_API_URL,
    version: '10',
    timeout: TIMEOUT_MS,
    retries: 0,
    rejectOnRateLimit: () => true,
  }
  const bot = new REST(options)

  /** What the bot reads. Throws what the client throws: `codeOf` and `chatFailure` tell what it means. */
  async function read<T>(route: RouteLike, query: Record<string, string> = {}): Promise<T> {
    if (!BOT_TOKEN) throw notSetUp('BOT_TOKEN')
    bot.setToken(BOT_TOKEN) // the client forgets it after a 401
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    return (await bot.get(route, { query: new URLSearchParams(query), signal })) as T
  }

  return {
    read,

    /** The roles that a user holds on a server, or nothing where they are not on it. */
    async memberRoles(serverId: string, userId: string): Promise<string[] | undefined> {
      try {
        const member = await read<APIGuildMember>(Routes.guildMember(serverId, userId))
        return member.roles
      } catch (error) {
        if (NO_MEMBER.includes(codeOf(error))) return undefined
        throw chatFailure(error)
      }
    },

    /** Who signed in with this code, and the servers they are on. */
    async signedIn(
      code: string,
      verifier: string,
    ): Promise<{ user: ChatUser; serverIds: string[] }> {
      if (!CLIENT_ID || !CLIENT_SECRET || !REDIRECT_URI)
        throw notSetUp('CLIENT_ID, CLIENT_SECRET and REDIRECT_URI')
      const rest = new REST({ ...options, authPrefix: 'Bearer' })
      const body = new URLSearchParams({
        grant_type: 'authorization_code',
        code,
        redirect_uri: REDIRECT_URI,
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        code_verifier: verifier,
      })
      try {
        const { access_token } = (await rest.post(Routes.oauth2TokenExchange(), {
          body,
          passThroughBody: true,
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          auth: false,
        })) as RESTPostOAuth2AccessTokenResult
        rest.setToken(access_token)
        const [user, guilds] = await Promise.all([
          rest.get(Routes.user()) as Promise<APIUser>,
          rest.get(Routes.userGuilds()) as Promise<RESTGetAPICurrentUserGuildsResult>,
        ])
        return {
          user: { id: user.id, username: user.username },
          serverIds: guilds.map(({ id }) => id),
        }
      } catch (error) {
        throw isRefusal(error) ? refused(error) : chatUnavailable(error)
      }
    },
  }
}

/** 400 on the token exchange means this code; anything else the platform or our set-up. */
const isRefusal = (error: unknown) => (error as { status?: number }).status === 400

const refused = (cause: unknown) =>
  new AppError(
    'invalid',
    'sign_in.refused',
    'The chat platform did not accept this sign-in; start again',
    { cause },
  )
/** The JSON error code of the platform's refusal; NaN for any other failure. */
export const codeOf = (error: unknown) => Number((error as { code?: number | string }).code)

/** What a failed request to the platform means to who asked. */
export const chatFailure = (error: unknown): AppError =>
  error instanceof AppError ? error : chatUnavailable(error)

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
