import type { TestContext } from 'node:test'
import { answer, ask } from '@guildhall/bus/calls'
import { busAs, quietLog, testSettings } from '@guildhall/bus/testing'
import { putCalendarSettings, syncCalendar } from '@guildhall/contracts/calendar'
import { findOrgsOfPerson } from '@guildhall/contracts/members'
import { findOrg } from '@guildhall/contracts/orgs'
import { findSecrets } from '@guildhall/contracts/secrets'
import { openDb } from '@guildhall/db/open'
import { roleUrl } from '@guildhall/db/provision'
import { sharedCalendar } from '@guildhall/sandbox/calendar/world'
import { notesDatabase } from '@guildhall/sandbox/notes/world'
import { testSandbox } from '@guildhall/sandbox/testing'
import type { Identity } from '@guildhall/service/caller-token'
import type { Env } from '@guildhall/service/config'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import { cleanUp, clientAs } from '@guildhall/service/testing'
import { readConfig } from './config.ts'
import { migrations, type Tables } from './db.ts'
import { start } from './main.ts'

type Test = Pick<TestContext, 'after'>
export const OFFICER = '10001'
export const GOOGLE_ID = 'club@group.calendar.google.com'

/**
 * calendar on its own database and broker, with notes and calendars of the sandbox and a clock that tests may turn. `begin`
 * starts it in another way.
 */
export async function testCalendar(t: Test, more: Env = {}, begin?: (env: Env) => Promise<string>) {
  const [common, sandbox] = await Promise.all([
    testSettings(t, { calendar: migrations }),
    testSandbox(t),
  ])
  const { world } = sandbox
  const settings: Record<string, string | undefined> & typeof common = {
    ...common,
    NOTES_API_URL: sandbox.notesUrl,
    GOOGLE_CALENDAR_URL: sandbox.calendarUrl,
    GOOGLE_TOKEN_URL: sandbox.calendarTokenUrl,
    NOTES_REQUESTS_PER_SECOND: '1000',
    GOOGLE_REQUESTS_PER_SECOND: '1000',
    TIMEZONE: 'America/New_York',
    ...more,
  }
  const { DATABASE_URL, INTERNAL_KEY, NATS_URL } = settings
  const auth = await testAuth(t, NATS_URL)
  const keys = {
    notes_api_key: world.keys.notes,
    google_service_account: world.calendar.account.keyFile(),
  }
  for (const org of [1, 2]) auth.secrets.set(org, { ...keys })
  const database = notesDatabase('Events')
  world.notes.databases = [database]
  const calendar = sharedCalendar(GOOGLE_ID)
  world.calendar.calendars = [calendar]
  const clock = { ahead: 0 }
  const now = () => new Date(Date.now() + clock.ahead)
  const open = async (env: Env = {}) => {
    const service = await start(readConfig({ ...settings, ...env }), now)
    cleanUp(t, () => service[Symbol.asyncDispose]())
    return service.url
  }
  const url = await (begin ? begin(settings) : open())
  const dbUrl = roleUrl(DATABASE_URL, 'calendar', INTERNAL_KEY)
  const db = openDb<Tables>({ url: dbUrl, schema: 'calendar', log: quietLog })
  cleanUp(t, () => db.destroy())
  const as = (identity: Partial<Identity>, at = url) => clientAs(at, INTERNAL_KEY, identity)
  return { as, db, open, settings, auth, world, database, calendar, keys, clock, sandbox }
}
export type TestCalendar = Awaited<ReturnType<typeof testCalendar>>

const orgOf = (id: number) => ({
  id,
  prefix: `org${id}`,
  name: `Org ${id}`,
  modules: ['calendar'],
  publisher: false,
})
export const at = (org = 1) => ({ params: { org: `org${org}` } })
export const atId = (org = 1) => ({ params: { org_id: String(org) } })

export const officer = (org = 1, superadmin = false): Partial<Identity> => ({
  org: orgOf(org),
  caller: { kind: 'officer', superadmin, ...person },
})
export const platform = (): Partial<Identity> => ({ caller: { kind: 'platform', ...person } })
export const anyone = (org = 1): Partial<Identity> => ({ org: orgOf(org) })
const person = {
  ...{ chat_user_id: OFFICER, username: 'olivia', token_id: newId(), expires_at: 4e9 },
}

/** Sets the database and the calendar of the test for an org. */
export async function connect(calendar: TestCalendar, more: object = {}, org = 1) {
  const body = {
    notes_database_id: calendar.database.id,
    google_calendar_id: GOOGLE_ID,
    calendar_sync_enabled: true,
    ...more,
  }
  const client = calendar.as(officer(org))
  const reply = await client.call(putCalendarSettings, { ...atId(org), body })
  if (reply.status >= 300) throw new Error(JSON.stringify(reply.body))
}

/** Syncs, waits, and answers what it did. */
export async function synced({ as }: Pick<TestCalendar, 'as'>, force = false, org = 1) {
  const query = { wait: 'true', force: String(force) }
  const reply = await as(officer(org)).call(syncCalendar, { ...at(org), query })
  if (reply.status !== 200) throw new Error(JSON.stringify(reply.body))
  const { status, created, updated, deleted, unchanged, skipped, code } = reply.body
  return { status, counts: [created, updated, deleted, unchanged], skipped, code }
}

/** auth, as far as calendar asks it. */
async function testAuth(t: Test, url: string) {
  /** What auth holds of each org. */
  const secrets = new Map<number, Record<string, string>>()
  const active = new Set([1, 2])
  /** Orgs that it cannot say anything of, or not their secrets. */
  const broken = { orgs: new Set<number>(), secrets: new Set<number>() }
  const bus = await busAs(t, { url, peer: 'auth' })
  answer(bus, findOrg, async (asked) => {
    if ('id' in asked && broken.orgs.has(asked.id)) throw away()
    return { org: 'id' in asked && active.has(asked.id) ? orgOf(asked.id) : null }
  })
  answer(bus, findSecrets('calendar'), async ({ org_id, names }) => {
    if (broken.secrets.has(org_id)) throw away()
    const held = Object.entries(secrets.get(org_id) ?? {})
    return { secrets: Object.fromEntries(held.filter(([name]) => names.includes(name))) }
  })
  answer(bus, findOrgsOfPerson, async ({ chat_user_id }) => ({
    orgs: chat_user_id === OFFICER ? [orgOf(1), orgOf(2)] : [],
  }))
  await bus.nats.flush()
  return { bus, secrets, active, broken, ask: ask.bind(undefined, bus) }
}

const away = () => new AppError('unavailable', 'database.unavailable', 'The database is away')
