import { defaultPorts } from '@guildhall/contracts/names'
import {
  commonSettings,
  type Env,
  listenSettings,
  Port,
  PostgresUrl,
  readSettings,
  WebUrl,
  webhookSettings,
} from '@guildhall/service/config'
import { z } from 'zod'

/** Where the lists are unless the operator says otherwise; only these are read as what anybody on the internet may own. */
export const PUBLIC_LISTS = {
  CODEHOST_RAW_URL: 'https://raw.githubusercontent.com',
  ALERTS_HACKCLUB_URL: 'https://hackathons.hackclub.com/api/events/upcoming/',
  ALERTS_EURO_HACKATHONS_URL: 'https://euro-hackathons.vercel.app/api/hackathons?status=upcoming',
  ALERTS_HACKALIST_URL: 'https://www.hackalist.org/api/1.0',
} as const

/** Every setting that alerts reads. */
export const Settings = z.object({
  ...commonSettings,
  ...listenSettings,
  ALERTS_PORT: Port.default(defaultPorts.alerts).describe('Port of alerts, for the gateway alone'),
  ALERTS_DATABASE_URL: PostgresUrl.optional().describe(
    "alerts' own role and schema; else made from DATABASE_URL",
  ),
  ...webhookSettings,
  CODEHOST_RAW_URL: WebUrl.default(PUBLIC_LISTS.CODEHOST_RAW_URL).describe(
    'Files of public repositories of the code host',
  ),
  ALERTS_HACKCLUB_URL: WebUrl.default(PUBLIC_LISTS.ALERTS_HACKCLUB_URL).describe(
    'Hackathons of Hack Club, as JSON',
  ),
  ALERTS_EURO_HACKATHONS_URL: WebUrl.default(PUBLIC_LISTS.ALERTS_EURO_HACKATHONS_URL).describe(
    'Hackathons of Euro Hackathons, as JSON',
  ),
  ALERTS_HACKALIST_URL: WebUrl.default(PUBLIC_LISTS.ALERTS_HACKALIST_URL).describe(
    'Hackathons of Hackalist: <it>/<year>/<month>.json',
  ),
})
export type Config = z.output<typeof Settings>

export const readConfig = (env: Env = process.env): Config => readSettings(Settings, env)
