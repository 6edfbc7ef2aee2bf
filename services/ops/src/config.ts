import { defaultPorts } from '@guildhall/contracts/names'
import {
  commonSettings,
  type Env,
  listenSettings,
  Port,
  PostgresUrl,
  readSettings,
} from '@guildhall/service/config'
import { z } from 'zod'

/** Every setting that ops reads. */
export const Settings = z.object({
  ...commonSettings,
  ...listenSettings,
  OPS_PORT: Port.default(defaultPorts.ops).describe('Port of ops, for the gateway alone'),
  OPS_DATABASE_URL: PostgresUrl.optional().describe(
    "ops' own role and schema; else made from DATABASE_URL",
  ),
})
export type Config = z.output<typeof Settings>

export const readConfig = (env: Env = process.env): Config => readSettings(Settings, env)
