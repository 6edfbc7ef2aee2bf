import { ask } from '@guildhall/bus/calls'
import { connectBus } from '@guildhall/bus/connect'
import { putFeed } from '@guildhall/contracts/alerts'
import { putCalendarSettings } from '@guildhall/contracts/calendar'
import { pathOf } from '@guildhall/contracts/client'
import { createOrg, type Org } from '@guildhall/contracts/orgs'
import { putSecret } from '@guildhall/contracts/secrets'
import { DEMO_CALENDAR, people, servers } from '@guildhall/sandbox/demo'
import { DEMO_LIST } from '@guildhall/sandbox/demo-lists'
import type { Sandbox } from '@guildhall/sandbox/sandbox'
import {
  CALLER_HEADER,
  callerKey,
  type Identity,
  signIdentity,
} from '@guildhall/service/caller-token'
import type { Env } from '@guildhall/service/config'
import { AppError } from '@guildhall/service/errors'
import { newId } from '@guildhall/service/id'
import { createLog } from '@guildhall/service/log'

const TOKEN_SECONDS = 60

/** Makes the orgs of the demo world, once, Demo Club with pods, a calendar and an alert feed: an org that was renamed, deactivated or purged since stays as it is. */
export async function makeDemoOrgs(settings: Env, sandbox: Sandbox) {
  const { NATS_URL = '', INTERNAL_KEY = '' } = settings
  const log = createLog('operator', { format: 'json', level: 'error' })
  await using bus = await connectBus({
    peer: 'operator',
    url: NATS_URL,
    internalKey: INTERNAL_KEY,
    log,
  })
  const orgs = [
    { prefix: 'demo', name: 'Demo Club', ...servers.demo },
    { prefix: 'rival', name: 'Rival Club', ...servers.rival },
  ]
  for (const { prefix, name, id, officerRoleId } of orgs) {
    const wanted = { prefix, name, chat_server_id: id, officer_role_id: officerRoleId }
    const made = await ask(bus, createOrg, wanted).catch(keepChanged)
    if (prefix === 'demo' && made) await connectDemo(settings, made, sandbox)
  }
}

/** Gives the demo org its accounts at the sandbox, its calendar and its feed, as the superadmin would through the gateway. */
async function connectDemo(
  settings: Env,
  { org, created }: { org: Org; created: boolean },
  sandbox: Sandbox,
) {
  const { keys, calendar, notes } = sandbox.world
  const values = {
    ...(created && { podhost_api_key: keys.podhost, notes_api_key: keys.notes }),
    google_service_account: calendar.account.keyFile(), // another one at each start of the sandbox
  }
  for (const [name, value] of Object.entries(values)) {
    const path = pathOf(putSecret, { params: { org_id: org.id, name } })
    await putAs(settings, org, { service: 'auth', path }, { value })
  }
  await putDemoFeed(settings, org, { created, sandbox })
  if (!created) return
  const path = pathOf(putCalendarSettings, { params: { org_id: org.id } })
  const notes_database_id = notes.databases[0]?.id ?? null
  const body = { notes_database_id, google_calendar_id: DEMO_CALENDAR, calendar_sync_enabled: true }
  await putAs(settings, org, { service: 'calendar', path }, body)
}

/** What a change of a feed that was deleted is answered. */
const NO_FEED = 400
const DEMO_FEED = 'demo-internships'
/** Off until an officer runs it: they see then what a run does. */
const NEW_FEED = {
  kind: 'github_jobs',
  config: { repo: DEMO_LIST, label: 'Internship' },
  enabled: false,
}

/** The feed, and at each start of the sandbox its new webhook. An officer may have deleted the feed since. */
async function putDemoFeed(
  settings: Env,
  org: Org,
  { created, sandbox }: { created: boolean; sandbox: Sandbox },
) {
  const { world, chatWebhooksUrl } = sandbox
  const [hook] = world.webhooks ?? []
  const webhook_url = `${chatWebhooksUrl}/${hook?.id}/${hook?.token}`
  const path = pathOf(putFeed, { params: { org: org.prefix, key: DEMO_FEED } })
  const body = { webhook_url, ...(created && NEW_FEED) }
  const accept = created ? undefined : NO_FEED
  await putAs(settings, org, { service: 'alerts', path, accept }, body)
}

interface Target {
  service: 'auth' | 'calendar' | 'alerts'
  path: string
  /** The status of a refusal that is no fault. */
  accept?: number | undefined
}

async function putAs(
  settings: Env,
  { id, prefix, name }: Org,
  { service, path, accept }: Target,
  body: object,
) {
  const { id: chat_user_id, username } = people.superadmin
  const token = { token_id: newId(), expires_at: Math.floor(Date.now() / 1000) + TOKEN_SECONDS }
  const identity: Identity = {
    caller: { kind: 'officer', superadmin: true, chat_user_id, username, ...token },
    org: { id, prefix, name, modules: [], publisher: false },
    request_id: newId(),
  }
  const target = { service, method: 'PUT', path } as const
  const key = callerKey(settings.INTERNAL_KEY ?? '', service)
  const signed = signIdentity(identity, target, key)
  const headers = { [CALLER_HEADER]: signed, 'content-type': 'application/json' }
  const url = settings[`${service.toUpperCase()}_URL`] + path
  const reply = await fetch(url, { method: 'PUT', headers, body: JSON.stringify(body) })
  if (!reply.ok && reply.status !== accept)
    throw new Error(`The demo org was not connected: ${await reply.text()}`)
}

function keepChanged(error: unknown): undefined {
  if (!(error instanceof AppError && error.kind === 'conflict')) throw error
}
