import { defaultPorts } from '@guildhall/contracts/names'
import { sealingKeys } from '@guildhall/outbound/sealing-setting'
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
  SECRETS_KEY: sealingKeys('org secrets and SSH keys'),
  PODHOST_API_URL: WebUrl.default('https://api.runpod.io/v2').describe('API of the pod host'),
  PODHOST_TIMEOUT_MS: z.coerce
    .number()
    .int()
    .min(100)
    .max(60_000)
    .default(10_000)
    .describe('How long the pod host may take for an answer; three times that to make a pod'),
  COMPUTE_POD_IMAGE: z
    .string()
    .optional()
    .describe('Image of pods where neither the officer nor the org names one'),
  APPS_PROXY_URL: z
    .string()
    .refine(
      (url) =>
        URL.canParse(url.replace('{pod}', 'a').replace('{port}', '1')) && url.includes('{pod}'),
      'is a URL with {pod}, and {port} where it matters',
    )
    .optional()
    .describe(
      'Where health paths of apps are asked, with {pod} and {port} for the pod; else https://{pod}-{port}.proxy.runpod.net, on the public internet only',
    ),
  CODEHOST_API_URL: WebUrl.default('https://api.github.com').describe('API of the code host'),
  CODEHOST_RAW_URL: WebUrl.default('https://raw.githubusercontent.com').describe(
    'Files of public repositories of the code host',
  ),
  CODEHOST_TOKEN: z.string().optional().describe('Token of the code host, for public repositories'),
  COMPUTE_PIN_HOST_KEYS: z
    .stringbool()
    .default(true)
    .describe('false accepts whatever SSH host key a pod shows'),
})
export type Config = z.output<typeof Settings>

export const readConfig = (env: Env = process.env): Config => readSettings(Settings, env)
