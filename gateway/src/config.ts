import {
  commonSettings,
  type Env,
  listenSettings,
  Port,
  readSettings,
} from '@guildhall/service/config'
import { z } from 'zod'

const Url = z.url({ protocol: /^https?$/ })
const list = (text: string) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean)
const PerMinute = z.coerce.number<string>().int().min(0)

/** Every setting that the gateway reads. It needs no database. */
export const Settings = z.object({
  INTERNAL_KEY: commonSettings.INTERNAL_KEY,
  NATS_URL: commonSettings.NATS_URL,
  LOG_FORMAT: commonSettings.LOG_FORMAT,
  LOG_LEVEL: commonSettings.LOG_LEVEL,
  ...listenSettings,
  PORT: Port.default(8080).describe('The one public port'),
  ADMIN_PORT: Port.default(9090).describe('Metrics of the gateway, on loopback alone'),
  AUTH_URL: Url.default('http://127.0.0.1:4001').describe('Where auth listens'),
  KNOWLEDGE_URL: Url.default('http://127.0.0.1:4002').describe('Where knowledge listens'),
  OPS_URL: Url.default('http://127.0.0.1:4003').describe('Where ops listens'),
  CLIENT_URL: Url.optional().describe('Browser client; its origin may call the API'),
  DASHBOARD_URL: Url.optional().describe('Dashboard; its origin may call the API'),
  ALLOWED_ORIGINS: z
    .string()
    .default('')
    .transform(list)
    .describe('Further origins, separated by commas'),
  ACCESS_ENFORCE: z
    .stringbool()
    .default(false)
    .describe('true refuses what access checks deny; false only logs it'),
  DISABLED_ROUTES: z
    .string()
    .default('')
    .refine(
      (text) => list(text).every((prefix) => prefix.startsWith('/')),
      'each prefix begins with /',
    )
    .transform(list)
    .describe('Path prefixes that answer 404; a folder ends with /'),
  TRUST_PROXY: z
    .string()
    .default('')
    .transform((text) => (/^\d+$/.test(text) ? Number(text) : list(text)))
    .describe('Proxies in front: how many, or their addresses and networks'),
  GIT_COMMIT_HASH: z.string().default('unknown').describe('Commit of the build, shown by /health'),
  RATE_CREDENTIAL_PER_MINUTE: PerMinute.default(1_200).describe(
    'Requests of one credential; 0 is no limit',
  ),
  RATE_MACHINE_PER_MINUTE: PerMinute.default(6_000).describe(
    'Requests of one machine token; 0 is no limit',
  ),
  RATE_SEARCH_PER_MINUTE: PerMinute.default(1_200).describe(
    'Searches of one credential; 0 is no limit',
  ),
  RATE_ADDRESS_PER_MINUTE: PerMinute.default(3_000).describe(
    'Requests without credential from one address; 0 is no limit',
  ),
  RATE_FAILED_SIGN_INS_PER_MINUTE: PerMinute.default(100).describe(
    'Refused credentials from one address; 0 is no limit',
  ),
})
export type Config = z.output<typeof Settings>

export const readConfig = (env: Env = process.env): Config => readSettings(Settings, env)
