import { ask } from '@guildhall/bus/calls'
import { connectBus } from '@guildhall/bus/connect'
import { quietLog } from '@guildhall/bus/testing'
import { putCalendarSettings } from '@guildhall/contracts/calendar'
import { putEventPost } from '@guildhall/contracts/event-posts'
import { createOrg, putModules } from '@guildhall/contracts/orgs'
import { putSecret } from '@guildhall/contracts/secrets'
import { notesDatabase } from '@guildhall/sandbox/notes/world'
import type { Channel } from '@guildhall/sandbox/world'
import { until } from '@guildhall/service/testing'
import type { Hands } from './hands.ts'
import { acknowledged, answered } from './kind.ts'

/** An org has one post a day, so each post is of an org of its own. */
export const ORGS = 24
/** The platform keeps every second post and answers 503 all the same: the client repeats the request. */
const FAILING = 2
const DAY_MS = 86_400_000
/** From when it is set until it is due, at most: a post is due at a full minute. */
const DUE_WITHIN_MS = 65_000
const CONNECTED_WITHIN_MS = 60_000
const BUS_WITHIN_MS = 5_000

/** The day of an org, posted once its module is on. */
export interface Day {
  prefix: string
  org_id: string
  messages: Channel['messages']
}

/** Orgs with an event today, on chat servers of their own. Their module is off, so nothing is posted. */
export const openDays = (hands: Hands): Promise<Day[]> =>
  Promise.all(addServers(hands).map((club) => dayOf(hands, club)))

/** Chat servers with a channel each; the bot, connected anew, hears of them. */
function addServers({ sandbox: { world, chatGateway } }: Hands) {
  const [like] = world.guilds
  if (!like) throw new Error('The sandbox has no chat server')
  const clubs = Array.from({ length: ORGS }, (_, n) => {
    const id = (kind: number) => `${kind}${String(n).padStart(3, '0')}`
    const fault = n % FAILING === 0 ? ('fails_once_after' as const) : undefined
    const channel: Channel = { id: id(68440279000000), name: 'general', messages: [], fault }
    return { prefix: `storm-${n}`, guild: { ...like, id: id(28440279000000) }, channel }
  })
  for (const { guild, channel } of clubs) {
    const everyone = { id: guild.id, name: '@everyone', position: 0 }
    const roles = [everyone, ...like.roles.filter(({ id }) => id !== like.id)]
    world.guilds.push({ ...guild, roles, channels: [channel] })
  }
  chatGateway.forget()
  chatGateway.drop()
  return clubs
}

/** An org with an event today, which is posted from the next full minute on if its module is on. */
async function dayOf(
  hands: Hands,
  { prefix, guild, channel }: ReturnType<typeof addServers>[number],
): Promise<Day> {
  const { superadmin, sandbox } = hands
  const on = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10)
  const notes = notesDatabase(prefix, [{ Name: 'Storm', Date: { start: on(-1), end: on(2) } }])
  sandbox.world.notes.databases.push(notes)
  const org_id = await makeOrg(hands, { prefix, chat_server_id: guild.id })
  const params = { org_id }
  const secret = { params: { ...params, name: 'notes_api_key' as const } }
  const key = { value: sandbox.world.keys.notes }
  await answered(superadmin().call(putSecret, { ...secret, body: key }))
  const settings = { notes_database_id: notes.id, calendar_sync_enabled: false }
  await answered(superadmin().call(putCalendarSettings, { params, body: settings }))
  await until(async () => {
    const events_post_at = new Date(Date.now() + DUE_WITHIN_MS).toISOString().slice(11, 16)
    const body = { events_post_at, channel_id: channel.id, time_zone: 'UTC' }
    return answered(superadmin().call(putEventPost, { params, body }))
  }, CONNECTED_WITHIN_MS)
  await switchCalendar(hands, org_id, false)
  return { prefix, org_id, messages: channel.messages }
}

/** Nothing where nobody knows whether it is switched. */
export const switchCalendar = ({ superadmin }: Hands, org_id: string, calendar: boolean) =>
  acknowledged(
    superadmin().call(putModules, { params: { org_id }, body: { modules: { calendar } } }),
  )

async function makeOrg(hands: Hands, org: { prefix: string; chat_server_id: string }) {
  await using bus = await operatorBus(hands)
  const wanted = { ...org, name: org.prefix, officer_role_id: null }
  return String((await ask(bus, createOrg, wanted)).org.id)
}

/** The bus as the operator, who may start a job. */
export const operatorBus = ({ settings: { NATS_URL = '', INTERNAL_KEY = '' } }: Hands) =>
  connectBus({
    peer: 'operator',
    url: NATS_URL,
    internalKey: INTERNAL_KEY,
    log: quietLog,
    timeoutMs: BUS_WITHIN_MS,
  })
