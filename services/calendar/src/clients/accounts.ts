import { ask } from '@guildhall/bus/calls'
import type { Bus } from '@guildhall/bus/connect'
import { findSecrets } from '@guildhall/contracts/secrets'
import { AppError } from '@guildhall/service/errors'
import { z } from 'zod'
import type { Config } from '../config.ts'
import type { Db, SettingsRow } from '../db.ts'
import { isAssigned } from '../settings/queries.ts'
import { type GoogleCalendars, openGoogle } from './google.ts'
import { type Notes, openNotes, type Patience } from './notes.ts'
import { createPace } from './paced-fetch.ts'

const NOTES = 'notes_api_key'
const GOOGLE = 'google_service_account'

/** The outside accounts by which an org is served: its own, or the deployment's for what the superadmin gave it. */
export interface Accounts {
  /** The notes and their database. Throws where none is set, or the org may not use it. */
  notes(
    settings: SettingsRow | undefined,
    signal: AbortSignal,
    patience?: Patience,
  ): Promise<OrgNotes>
  /** The calendars. Throws where the key is none, or the org may not use the calendar that it set. */
  calendars(settings: SettingsRow, signal: AbortSignal): Promise<OrgCalendars>
}
export interface OrgNotes {
  notes: Notes
  databaseId: string
}
export interface OrgCalendars {
  calendars: GoogleCalendars
  /** By the org's own account, not the deployment's. */
  own: boolean
}

const AccountKey = z.object({
  client_email: z.string().min(1),
  private_key: z.string().regex(/^-----BEGIN/),
})

export function createAccounts({
  db,
  bus,
  config,
}: {
  db: Db
  bus: Bus
  config: Config
}): Accounts {
  const notesPace = createPace(config.NOTES_REQUESTS_PER_SECOND)
  const googlePace = createPace(config.GOOGLE_REQUESTS_PER_SECOND)
  const secretOf = async (org_id: number, name: string) =>
    (await ask(bus, findSecrets('calendar'), { org_id, names: [name] })).secrets[name]

  return {
    async notes(settings, signal, patience) {
      if (!settings?.notes_database_id) throw noDatabase()
      const { org_id, notes_database_id: databaseId } = settings
      const own = await secretOf(org_id, NOTES)
      const key = own ?? config.NOTES_API_KEY
      if (!key) throw notConnected('notes database', NOTES)
      if (own === undefined && !(await isAssigned(db, org_id, 'notes', databaseId)))
        throw notAssigned('notes database', NOTES)
      const url = config.NOTES_API_URL
      return { notes: openNotes({ url, key, pace: notesPace }, signal, patience), databaseId }
    },

    async calendars({ org_id, google_calendar_id }, signal) {
      const own = await secretOf(org_id, GOOGLE)
      const text = own ?? config.GOOGLE_SERVICE_ACCOUNT
      if (text === undefined) throw notConnected('calendar', GOOGLE)
      const key = accountKey(text)
      if (own === undefined && google_calendar_id !== null) {
        if (!(await isAssigned(db, org_id, 'calendar', google_calendar_id)))
          throw notAssigned('calendar', GOOGLE)
      }
      const { GOOGLE_CALENDAR_URL: url, GOOGLE_TOKEN_URL: tokenUrl } = config
      const calendars = openGoogle({ url, tokenUrl, key, pace: googlePace }, signal)
      return { calendars, own: own !== undefined }
    },
  }
}

/** Throws for a key that is no JSON object, or lacks a part; never with the key in the message. */
function accountKey(text: string) {
  const parsed = AccountKey.safeParse(jsonObject(text))
  if (parsed.success) return parsed.data
  throw new AppError(
    'unavailable',
    'calendar.key_incomplete',
    'google_service_account lacks client_email or private_key: set the whole key file of the service account',
  )
}

function jsonObject(text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // the parser's message quotes the key
  }
  throw new AppError(
    'unavailable',
    'calendar.key_not_an_object',
    'google_service_account is not a JSON object: set the key file of the service account as it is',
  )
}

const noDatabase = () =>
  new AppError(
    'unavailable',
    'calendar.not_set',
    'The org has no notes database: an officer sets notes_database_id in the settings of the calendar',
  )
const notConnected = (what: string, secret: string) =>
  new AppError(
    'unavailable',
    'calendar.not_connected',
    `The org has no key of its ${what}: an officer sets ${secret} under Integrations`,
  )
const notAssigned = (what: string, secret: string) =>
  new AppError(
    'conflict',
    'calendar.not_assigned',
    `The deployment's key does not serve this ${what}: the superadmin sets it for the org, or an officer sets ${secret} under Integrations`,
  )
