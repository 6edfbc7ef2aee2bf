import { defaultPorts } from '@guildhall/contracts/names'
import {
  accountSettings,
  commonSettings,
  type Env,
  listenSettings,
  originSettings,
  Port,
  PostgresUrl,
  readSettings,
} from '@guildhall/service/config'
import { z } from 'zod'

/** Every setting that mcp reads. */
export const Settings = z.object({
  ...commonSettings,
  ...listenSettings,
  ...originSettings,
  ...accountSettings,
  MCP_PORT: Port.default(defaultPorts.mcp).describe('Port of mcp, for the gateway alone'),
  MCP_DATABASE_URL: PostgresUrl.optional().describe(
    "mcp's own role and schema; else made from DATABASE_URL",
  ),
})
export type Config = z.output<typeof Settings>

export const readConfig = (env: Env = process.env): Config => readSettings(Settings, env)
