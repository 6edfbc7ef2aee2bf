import { defaultPorts } from '@guildhall/contracts/names'
import { sealingKeys } from '@guildhall/outbound/sealing-setting'
import {
  accountSettings,
  commonSettings,
  type Env,
  Key,
  listenSettings,
  originSettings,
  Port,
  PostgresUrl,
  readSettings,
  WebUrl,
  webUrls,
} from '@guildhall/service/config'
import { z } from 'zod'
import { integrationSettings } from './integrations/settings.ts'

/** Every setting that auth reads. */
export const Settings = z.object({
  ...commonSettings,
  ...listenSettings,
  AUTH_PORT: Port.default(defaultPorts.auth).describe('Port of auth, for the gateway alone'),
  AUTH_DATABASE_URL: PostgresUrl.optional().describe(
    "auth's own role and schema; else made from DATABASE_URL",
  ),
  SECRET_KEY: Key.describe('Signs cookies and seals the key that signs access tokens'),
  SECRETS_KEY: sealingKeys('org secrets'),
  BOT_TOKEN: z.string().optional().describe('Chat bot token for role and member reads'),
  CLIENT_ID: z.string().optional().describe("The chat application's id, for sign-in"),
  CLIENT_SECRET: z.string().optional().describe("The chat application's secret"),
  REDIRECT_URI: WebUrl.optional().describe(
    '<public address>/api/auth/callback, as registered at the chat platform',
  ),
  ...originSettings,
  ...accountSettings,
  COMPUTE_CLI_NAME: z
    .string()
    .max(60)
    .default('the compute CLI')
    .describe('What the compute CLI is called on its sign-in page and in errors'),
  IDP_SECRET_KEY: z
    .string()
    .optional()
    .describe("Secret key of the identity provider's API (Clerk)"),
  IDP_JWT_KEY: z
    .string()
    .optional()
    .describe('Its public key (PEM): then tokens are verified without asking it'),
  IDP_AUTHORIZED_PARTIES: webUrls(
    'Origins whose identity tokens count, separated by commas; none without it',
  ),
  IDP_API_URL: WebUrl.default('https://api.clerk.com').describe("Identity provider's API"),
  SYS_ADMIN: z
    .string()
    .regex(/^\d{5,25}(\s*,\s*\d{5,25})*$/, 'needs chat user ids, separated by commas')
    .optional()
    .describe('Chat user ids of the superadmin'),
  CHAT_API_URL: WebUrl.default('https://discord.com/api').describe('REST API of the chat platform'),
  CHAT_AUTHORIZE_URL: WebUrl.default('https://discord.com/oauth2/authorize').describe(
    'Sign-in page of the chat platform',
  ),
  ...integrationSettings,
})
export type Config = z.output<typeof Settings>

export const readConfig = (env: Env = process.env): Config => readSettings(Settings, env)
