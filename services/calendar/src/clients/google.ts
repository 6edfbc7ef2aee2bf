import { auth, type calendar_v3, calendar as calendarApi } from '@googleapis/calendar'
import { AppError } from '@guildhall/service/errors'
import { explained, notRepeated, retryConfig } from './google-errors.ts'
import { type Pace, pacedFetch } from './paced-fetch.ts'

export type GoogleEvent = calendar_v3.Schema$Event

const SCOPES = ['https://www.googleapis.com/auth/calendar']
/** Where the official client asks for tokens, whatever the key file says. */
const TOKEN_URL = 'https://oauth2.googleapis.com/token'
const MOST_EVENTS = 50_000

/** The calendars of a service account. */
export interface GoogleCalendars {
  /** The id of the calendar whose description holds the text, if the account owns one. */
  find(text: string): Promise<string | undefined>
  create(calendar: { summary: string; description: string; timeZone: string }): Promise<string>
  /** Every event there is, also those of people. Throws 502 unless all could be read. */
  events(calendarId: string): Promise<GoogleEvent[]>
  /** Makes the event with its own id; one with that id, deleted ones too, becomes as it is asked. */
  put(calendarId: string, event: GoogleEvent & { id: string }): Promise<void>
  patch(calendarId: string, event: GoogleEvent & { id: string }): Promise<void>
  /** An event that is gone already is fine. */
  remove(calendarId: string, eventId: string): Promise<void>
}

export interface Account {
  /** Origin of the API. */
  url: string
  tokenUrl: string
  key: { client_email: string; private_key: string }
  pace: Pace
}

/** The calendar service (Google Calendar v3) by its official client, which repeats what may be repeated. */
export function openGoogle(account: Account, signal: AbortSignal): GoogleCalendars {
  const api = clientOf(account, signal).events
  const { calendars, calendarList } = clientOf(account, signal)
  const at = (calendarId: string) => ({ calendarId, sendUpdates: 'none' })
  async function patch(calendarId: string, { id, ...requestBody }: GoogleEvent & { id: string }) {
    await api.patch({ ...at(calendarId), eventId: id, requestBody })
  }
  return {
    find: (text) =>
      explained(async () => {
        const mine = all((pageToken) =>
          calendarList.list({ minAccessRole: 'owner', maxResults: 250, ...pageToken }),
        )
        return (await mine).find(({ description }) => description?.includes(text))?.id ?? undefined
      }),
    create: (requestBody) =>
      explained(async () => {
        const { data } = await calendars.insert({ requestBody }, { retryConfig: notRepeated })
        return data.id ?? ''
      }),
    events: (calendarId) =>
      explained(() =>
        all((pageToken) => api.list({ calendarId, maxResults: 2_500, ...pageToken })),
      ),
    put: (calendarId, event) =>
      explained(async () => {
        try {
          await api.insert({ ...at(calendarId), requestBody: event })
        } catch (error) {
          if ((error as { status?: number }).status !== 409) throw error
          await patch(calendarId, { ...event, status: 'confirmed' })
        }
      }),
    patch: (calendarId, event) => explained(() => patch(calendarId, event)),
    remove: (calendarId, eventId) =>
      explained(async () => {
        await api.delete({ ...at(calendarId), eventId }).catch((error: { status?: number }) => {
          if (![404, 410].includes(error.status ?? 0)) throw error
        })
      }),
  }
}

function clientOf({ url, tokenUrl, key, pace }: Account, signal: AbortSignal) {
  const fetchInTurn = pacedFetch(pace, { key: key.client_email, signal })
  const fetchImplementation: typeof fetch = (input, init) =>
    fetchInTurn(String(input) === TOKEN_URL ? tokenUrl : input, init)
  const account = new auth.JWT({
    email: key.client_email,
    key: key.private_key,
    scopes: SCOPES,
    transporterOptions: { fetchImplementation },
  })
  return calendarApi({ version: 'v3', auth: account, rootUrl: url, retryConfig })
}

interface Page<T> {
  data: { items?: T[]; nextPageToken?: string | null }
}

async function all<T>(read: (at: { pageToken?: string }) => Promise<Page<T>>): Promise<T[]> {
  const items: T[] = []
  let pageToken: string | undefined
  do {
    const { data } = await read(pageToken ? { pageToken } : {})
    items.push(...(data.items ?? []))
    pageToken = data.nextPageToken ?? undefined
    if (items.length > MOST_EVENTS) throw tooMany()
  } while (pageToken)
  return items
}

const tooMany = () =>
  new AppError(
    'conflict',
    'google_calendar.too_many_events',
    `The calendar has more than ${MOST_EVENTS} events; choose another`,
  )
