import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'

/** The calendar service and its one service account. */
export interface CalendarWorld {
  account: ServiceAccount
  calendars: SandboxCalendar[]
  /** Requests so far: `POST /calendars/:calendarId/events`. */
  requests: string[]
  /** Requests of any one second, as the service allows them; more get 403 with its reason. */
  perSecond?: number | undefined
}

export interface SandboxCalendar {
  id: string
  summary: string
  description?: string | undefined
  timeZone: string
  /** Deleted ones too, as `cancelled`: their ids stay taken. */
  events: Map<string, SandboxEvent>
  /** Shared with the account for reading alone. */
  readOnly?: boolean
}

export interface SandboxTime {
  date?: string | null | undefined
  dateTime?: string | null | undefined
  timeZone?: string | null | undefined
}

export interface SandboxEvent {
  id: string
  status: string
  summary?: string | undefined
  description?: string | undefined
  /** Of a single date of a series that somebody changed: the event of the series. */
  recurringEventId?: string | undefined
  location?: string | undefined
  start: SandboxTime
  end: SandboxTime
  extendedProperties?:
    | { private?: Record<string, string> | undefined; shared?: Record<string, string> | undefined }
    | undefined
  created: string
  updated: string
}

export interface ServiceAccount {
  email: string
  /** Its key file, as the service hands it out. */
  keyFile(): string
  publicKey(): KeyObject
}

const RSA_BITS = 2048

/** A service account; its key is made when it is first asked for. */
export function serviceAccount(email: string): ServiceAccount {
  let pem: string | undefined
  const privateKey = () => {
    pem ??= generateKeyPairSync('rsa', {
      modulusLength: RSA_BITS,
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    }).privateKey
    return pem
  }
  return {
    email,
    keyFile: () =>
      JSON.stringify({
        type: 'service_account',
        project_id: 'sandbox',
        private_key_id: 'sandbox',
        private_key: privateKey(),
        client_email: email,
        token_uri: 'https://oauth2.googleapis.com/token',
      }),
    publicKey: () => createPublicKey(privateKey()),
  }
}

/** A calendar that people share with the account. */
export const sharedCalendar = (id: string, timeZone = 'America/New_York'): SandboxCalendar => ({
  id,
  summary: id,
  timeZone,
  events: new Map(),
})
