import { defaultPorts } from '@guildhall/contracts/names'
import { sealingKeys } from '@guildhall/outbound/sealing-setting'
import {
  commonSettings,
  type Env,
  listenSettings,
  Port,
  PostgresUrl,
  readSettings,
} from '@guildhall/service/config'
import { z } from 'zod'

/** Every setting that agents reads. */
export const Settings = z.object({
  ...commonSettings,
  ...listenSettings,
  AGENTS_PORT: Port.default(defaultPorts.agents).describe('Port of agents, for the gateway alone'),
  AGENTS_DATABASE_URL: PostgresUrl.optional().describe(
    "agents' own role and schema; else made from DATABASE_URL",
  ),
  AGENT_RETENTION_DAYS: z.coerce
    .number<string>()
    .int()
    .min(1)
    .max(36_500)
    .default(180)
    .describe('Conversations without an update for so many days are deleted'),
  SECRETS_KEY: sealingKeys('sensitive memories'),
})
export type Config = z.output<typeof Settings>

export const readConfig = (env: Env = process.env): Config => readSettings(Settings, env)
