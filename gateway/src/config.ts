import { defaultPorts, type Service, services } from '@guildhall/contracts/names'
import {
  accountSettings,
  commonSettings,
  type Env,
  listed,
  listenSettings,
  originSettings,
  PerMinute,
  Port,
  rateSettings,
  readSettings,
  routeSettings,
  trackerSettings,
  WebUrl,
} from '@guildhall/service/config'
import ipaddr from 'ipaddr.js'
import { z } from 'zod'

type ServiceUrl = `${Uppercase<Service>}_URL`
const urlSetting = (service: Service) =>
  WebUrl.default(`http://127.0.0.1:${defaultPorts[service]}`).describe(`Where ${service} listens`)

/** The name of the setting that says where a service listens. */
export const urlOf = (service: Service) => `${service.toUpperCase()}_URL` as ServiceUrl
const serviceUrls = Object.fromEntries(
  services.map((service) => [urlOf(service), urlSetting(service)]),
) as Record<ServiceUrl, ReturnType<typeof urlSetting>>

/** An address, a network in CIDR, or a name that Fastify knows. */
const isNetwork = (text: string) =>
  ['loopback', 'linklocal', 'uniquelocal'].includes(text) ||
  ipaddr.isValid(text) ||
  ipaddr.isValidCIDR(text)

/** Every setting that the gateway reads. It needs no database. */
export const Settings = z.object({
  INTERNAL_KEY: commonSettings.INTERNAL_KEY,
  NATS_URL: commonSettings.NATS_URL,
  LOG_FORMAT: commonSettings.LOG_FORMAT,
  LOG_LEVEL: commonSettings.LOG_LEVEL,
  ...listenSettings,
  PORT: Port.default(8080).describe('The one public port'),
  ADMIN_PORT: Port.default(9090).describe('Metrics of the gateway, on loopback alone'),
  ...serviceUrls,
  ...originSettings,
  ...accountSettings,
  ACCESS_ENFORCE: z
    .stringbool()
    .default(false)
    .describe('true refuses what access checks deny; false only logs it'),
  ...routeSettings,
  TRUST_PROXY: z
    .string()
    .default('')
    .transform((text) => (/^\d+$/.test(text) ? Number(text) : listed(text)))
    .refine(
      (proxies) => typeof proxies === 'number' || proxies.every(isNetwork),
      'is a number of proxies, or addresses and networks such as 10.0.0.0/8, separated by commas',
    )
    .describe('Proxies in front: how many, or their addresses and networks'),
  ...trackerSettings,
  RATE_CREDENTIAL_PER_MINUTE: PerMinute.default(1_200).describe(
    'Requests of one credential; 0 is no limit',
  ),
  RATE_MACHINE_PER_MINUTE: PerMinute.default(6_000).describe(
    'Requests of one machine token; 0 is no limit',
  ),
  ...rateSettings,
  RATE_ADDRESS_PER_MINUTE: PerMinute.default(3_000).describe(
    'Requests without credential from one address; 0 is no limit',
  ),
  RATE_FAILED_SIGN_INS_PER_MINUTE: PerMinute.default(100).describe(
    'Refused credentials from one address; 0 is no limit',
  ),
})
export type Config = z.output<typeof Settings>

export const readConfig = (env: Env = process.env): Config => readSettings(Settings, env)
