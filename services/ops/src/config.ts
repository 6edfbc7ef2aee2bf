import { defaultPorts } from '@guildhall/contracts/names'
import {
  commonSettings,
  type Env,
  listenSettings,
  Port,
  PostgresUrl,
  readSettings,
  WebUrl,
  webhookSettings,
} from '@guildhall/service/config'
import { Cron } from 'croner'
import { z } from 'zod'

/** Every setting that ops reads. */
export const Settings = z.object({
  ...commonSettings,
  ...listenSettings,
  OPS_PORT: Port.default(defaultPorts.ops).describe('Port of ops, for the gateway alone'),
  OPS_DATABASE_URL: PostgresUrl.optional().describe(
    "ops' own role and schema; else made from DATABASE_URL",
  ),
  CODEHOST_API_URL: WebUrl.default('https://api.github.com').describe('API of the code host'),
  CODEHOST_TOKEN: z.string().optional().describe('Token of the code host, for public repositories'),
  ...webhookSettings,
  ERROR_WEBHOOK_URL: WebUrl.optional().describe(
    'Chat webhook that gets every new error, of every org and of the server',
  ),
  CALENDAR_SYNC_CRON: z
    .string()
    .refine(isCron, 'is no cron text such as 0 * * * *')
    .optional()
    .describe('Cron text (UTC) by which calendars are synced; without it only when asked'),
})

function isCron(text: string) {
  try {
    return new Cron(text).nextRun() !== null
  } catch {
    return false
  }
}
export type Config = z.output<typeof Settings>

export const readConfig = (env: Env = process.env): Config => readSettings(Settings, env)
