import { defaultPorts } from '@guildhall/contracts/names'
import { TOOL_MS } from '@guildhall/contracts/tool'
import {
  accountSettings,
  commonSettings,
  type Env,
  listenSettings,
  originSettings,
  Port,
  PostgresUrl,
  rateSettings,
  readSettings,
  routeSettings,
} from '@guildhall/service/config'
import { z } from 'zod'

/** As long as the gateway waits for a service. */
const MOST_TOOL_MS = 300_000

/** Every setting that mcp reads. */
export const Settings = z.object({
  ...commonSettings,
  ...listenSettings,
  ...originSettings,
  ...accountSettings,
  ...rateSettings,
  ...routeSettings,
  MCP_PORT: Port.default(defaultPorts.mcp).describe('Port of mcp, for the gateway alone'),
  TOOL_DEADLINE_MS: z.coerce
    .number<string>()
    .int()
    .min(1)
    .max(MOST_TOOL_MS)
    .default(TOOL_MS)
    .describe('How long a tool may take; its clients give up after a minute'),
  MCP_DATABASE_URL: PostgresUrl.optional().describe(
    "mcp's own role and schema; else made from DATABASE_URL",
  ),
})
export type Config = z.output<typeof Settings>

export const readConfig = (env: Env = process.env): Config => readSettings(Settings, env)
