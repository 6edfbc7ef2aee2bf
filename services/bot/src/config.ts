import { defaultPorts } from '@guildhall/contracts/names'
import {
  commonSettings,
  type Env,
  listenSettings,
  Port,
  PostgresUrl,
  readSettings,
  WebUrl,
} from '@guildhall/service/config'
import { z } from 'zod'

/** Every setting that the bot reads. */
export const Settings = z.object({
  ...commonSettings,
  ...listenSettings,
  BOT_PORT: Port.default(defaultPorts.bot).describe('Port of bot, for its probes alone'),
  BOT_DATABASE_URL: PostgresUrl.optional().describe(
    "bot's own role and schema; else made from DATABASE_URL",
  ),
  BOT_TOKEN: z.string().optional().describe('Chat bot token for role and member reads'),
  CHAT_API_URL: WebUrl.default('https://discord.com/api').describe('REST API of the chat platform'),
})
export type Config = z.output<typeof Settings>

export const readConfig = (env: Env = process.env): Config => readSettings(Settings, env)
