import { defaultPorts } from '@guildhall/contracts/names'
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

const PerSecond = z.coerce.number<string>().int().min(1).max(1_000)

/** Every setting that calendar reads. */
export const Settings = z.object({
  ...commonSettings,
  ...listenSettings,
  CALENDAR_PORT: Port.default(defaultPorts.calendar).describe(
    'Port of calendar, for the gateway alone',
  ),
  CALENDAR_DATABASE_URL: PostgresUrl.optional().describe(
    "calendar's own role and schema; else made from DATABASE_URL",
  ),
  NOTES_API_URL: WebUrl.default('https://api.notion.com').describe('API of the notes service'),
  NOTES_API_KEY: z.string().optional().describe('API key of the notes service'),
  NOTES_REQUESTS_PER_SECOND: PerSecond.default(3).describe(
    'Most requests to the notes service with one key, in each process of calendar',
  ),
  GOOGLE_SERVICE_ACCOUNT: z
    .string()
    .optional()
    .describe('Key file of a service account of the calendar service, as JSON'),
  GOOGLE_CALENDAR_URL: WebUrl.default('https://www.googleapis.com').describe(
    'Origin of the API of the calendar service',
  ),
  GOOGLE_TOKEN_URL: WebUrl.default('https://oauth2.googleapis.com/token').describe(
    'Where a service account gets its access tokens',
  ),
  GOOGLE_REQUESTS_PER_SECOND: PerSecond.default(8).describe(
    'Most requests to the calendar service with one account, in each process of calendar',
  ),
  TIMEZONE: z
    .string()
    .refine(isTimeZone, 'is no time zone such as America/New_York')
    .default('UTC')
    .describe('Time zone of the calendars that are made, and of times that name none'),
})
export type Config = z.output<typeof Settings>

export const readConfig = (env: Env = process.env): Config => readSettings(Settings, env)

function isTimeZone(timeZone: string) {
  try {
    return Boolean(new Intl.DateTimeFormat('en', { timeZone }))
  } catch {
    return false
  }
}
