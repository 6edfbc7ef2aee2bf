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

/** Every setting that compute reads. */
export const Settings = z.object({
  ...commonSettings,
  ...listenSettings,
  COMPUTE_PORT: Port.default(defaultPorts.compute).describe(
    'Port of compute, for the gateway alone',
  ),
  COMPUTE_DATABASE_URL: PostgresUrl.optional().describe(
    "compute's own role and schema; else made from DATABASE_URL",
  ),
})
export type Config = z.output<typeof Settings>

export const readConfig = (env: Env = process.env): Config => readSettings(Settings, env)
