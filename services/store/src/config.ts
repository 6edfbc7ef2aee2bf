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

/** Every setting that the store reads. */
export const Settings = z.object({
  ...commonSettings,
  ...listenSettings,
  STORE_PORT: Port.default(defaultPorts.store).describe('Port of the store, for the gateway alone'),
  STORE_DATABASE_URL: PostgresUrl.optional().describe(
    "store's own role and schema; else made from DATABASE_URL",
  ),
  ACCESS_ENFORCE: z
    .stringbool()
    .default(false)
    .describe('true refuses what access checks deny; false only logs it'),
})
export type Config = z.output<typeof Settings>

export const readConfig = (env: Env = process.env): Config => readSettings(Settings, env)
