import { REST } from '@discordjs/rest'
import { AppError } from '@guildhall/service/errors'
import {
  type APIGuildMember,
  type APIUser,
  type RESTGetAPICurrentUserGuildsResult,
  type RESTPostOAuth2AccessTokenResult,
  Routes,
} from 'discord-api-types/v10'
import type { Config } from '../config.ts'

const TIMEOUT_MS = 5_000
const UNKNOWN_MEMBER = 10_007
const UNKNOWN_GUILD = 10_004
const MISSING_ACCESS = 50_001

export interface ChatUser {
  id: string
  username: string
}

export type Chat = ReturnType<typeof createChat>

/** The chat platform over its REST API (Discord v10). Throws `chat.unavailable` where it does not answer. */
export function createChat(config: Config) {
  const { CHAT_API_URL, BOT_TOKEN, CLIENT_ID, CLIENT_SECRET, REDIRECT_URI } = config
  const options = { api: CHAT_API_URL, version: '10', timeout: TIMEOUT_MS, retries: 1 }
  const bot = new REST(options)
  if (BOT_TOKEN) bot.setToken(BOT_TOKEN)

  return {
    /** The roles that a user holds on a server, or nothing where they are not on it. */
    async memberRoles(serverId: string, userId: string): Promise<string[] | undefined> {
      if (!BOT_TOKEN) throw notSetUp('BOT_TOKEN')
      try {
        const member = (await bot.get(Routes.guildMember(serverId, userId))) as APIGuildMember
        return member.roles
      } catch (error) {
        const { code } = error as { code?: number | string }
        if ([UNKNOWN_MEMBER, UNKNOWN_GUILD, MISSING_ACCESS].includes(Number(code))) return undefined
        throw unavailable(error)
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
        throw isRefusal(error) ? refused(error) : unavailable(error)
      }
    },
  }
}

/** 400 and 401 on the token exchange mean this code, not the platform. */
function isRefusal(error: unknown) {
  const { status } = error as { status?: number }
  return status === 400 || status === 401
}

const refused = (cause: unknown) =>
  new AppError(
    'invalid',
    'sign_in.refused',
    'The chat platform did not accept this sign-in; start again',
    { cause },
  )
const unavailable = (cause: unknown) =>
  new AppError(
    'unavailable',
    'chat.unavailable',
    'The chat platform does not answer; try again in a minute',
    { cause },
  )
const notSetUp = (names: string) =>
  new AppError('unavailable', 'chat.not_set_up', `The chat platform is not set up: set ${names}`)
