import { createHmac, randomBytes } from 'node:crypto'
import { serviceAccount, sharedCalendar } from './calendar/world.ts'
import { demoHackathons, demoList, demoWebhook } from './demo-lists.ts'
import { type NotesDatabase, notesDatabase, notesPage } from './notes/world.ts'
import type { World } from './world.ts'

/** Whom a newcomer can sign in as. */
export const people = {
  officer: {
    id: '184402700000000001',
    username: 'olivia',
    name: 'Olivia',
    about: 'officer of Demo Club',
  },
  member: {
    id: '184402700000000002',
    username: 'milo',
    name: 'Milo',
    about: 'member of Demo Club',
  },
  superadmin: {
    id: '184402700000000003',
    username: 'sofia',
    name: 'Sofia',
    about: 'superadmin, officer of no club',
  },
  stranger: { id: '184402700000000004', username: 'stan', name: 'Stan', about: 'in no club' },
  rivalOfficer: {
    id: '184402700000000005',
    username: 'rowan',
    name: 'Rowan',
    about: 'officer of Rival Club',
  },
}

/** Accounts of the members' site at the identity provider. */
export const accounts = {
  member: { id: 'user_milo', email: 'milo@example.org', verified: true },
  officer: { id: 'user_olivia', email: 'olivia@example.org', verified: true },
  unverified: { id: 'user_una', email: 'una@example.org', verified: false },
}

/** The chat servers and the role that makes an officer. */
export const servers = {
  demo: { id: '284402700000000001', officerRoleId: '384402700000000001' },
  rival: { id: '284402700000000002', officerRoleId: '384402700000000011' },
}

/** A text channel of each. */
export const channels = { demo: '684402700000000001', rival: '684402700000000002' }

const BOT_ID = '184402700000000009'
const MEMBER_ROLE = '384402700000000002'
const BOT_ROLE = '384402700000000003'

/**
 * A new world, nobody else's: two chat servers with their officers, a member, a superadmin and a stranger. The
 * keys of its outside accounts come from `secret`: the same for the same one, and not to be guessed without it.
 */
export function demoWorld(secret = randomBytes(32).toString('hex')): World {
  const key = (name: string) =>
    `${name}-${createHmac('sha256', secret).update(`sandbox ${name}`).digest('hex')}`
  return {
    application: {
      clientId: '484402700000000001',
      clientSecret: 'sandbox-client-secret',
      botId: BOT_ID,
      botToken: 'sandbox.bot.token',
    },
    users: [
      ...Object.values(people).map((person) => ({ ...person })),
      { id: BOT_ID, username: 'guildhall', name: 'Guildhall', about: 'the bot', bot: true },
    ],
    guilds: [demoClub(), rivalClub()],
    identity: {
      asked: 0,
      issuer: 'https://identity.sandbox.test',
      secretKey: 'sk_test_sandbox',
      authorizedParty: 'http://store.sandbox.test',
      users: Object.values(accounts).map((account) => ({ ...account })),
    },
    faults: {},
    notes: { databases: [demoEvents(key)], requests: [] },
    calendar: {
      account: serviceAccount('guildhall@sandbox.iam.gserviceaccount.com'),
      calendars: [sharedCalendar(DEMO_CALENDAR)],
      requests: [],
    },
    repos: [demoRepo(), demoList()],
    webhooks: [demoWebhook(key('webhook'))],
    hackathons: demoHackathons(),
    keys: {
      podhost: key('podhost'),
      codeHost: key('code-host'),
      notes: key('notes'),
    },
  }
}

/** The calendar that Demo Club shares with its service account. */
export const DEMO_CALENDAR = 'demo-club@group.calendar.google.com'
const DAY_MS = 86_400_000
const day = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10)

/** What Demo Club plans; the ids are the same at each start. */
function demoEvents(key: (name: string) => string): NotesDatabase {
  const idOf = (name: string) =>
    key(name)
      .slice(-32)
      .replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-4$3-8$4-$5')
  const planned = [
    { Name: 'Weekly meeting', Date: { start: `${day(3)}T19:00:00.000-05:00` }, Location: 'Room 1' },
    { Name: 'Hack weekend', Date: { start: day(10), end: day(11) }, Description: 'Bring a laptop' },
  ]
  return {
    ...notesDatabase('Demo Club Events'),
    id: idOf('database'),
    sourceId: idOf('source'),
    pages: planned.map((values) => ({ ...notesPage(values), id: idOf(values.Name) })),
  }
}

const DEMO_COMMIT = 'd'.repeat(40)
const demoRepo = () => ({
  name: 'demo-club/site',
  private: false,
  default_branch: 'main',
  refs: { main: DEMO_COMMIT },
  files: { [DEMO_COMMIT]: { 'guildhall.json': JSON.stringify(DEMO_MANIFEST, null, 2) } },
})

/** The manifest of an app, as a club would write it. */
const DEMO_MANIFEST = {
  kind: 'site',
  description: "Demo Club's site",
  image: 'ghcr.io/demo-club/site',
  cpu: { id: 'cpu3c', vcpuCount: 2 },
  ports: ['8080/http'],
  health: { port: 8080, path: '/health' },
}

const demoClub = () => ({
  id: servers.demo.id,
  name: 'Demo Club',
  ownerId: people.officer.id,
  roles: [
    { id: servers.demo.id, name: '@everyone', position: 0 },
    { id: servers.demo.officerRoleId, name: 'Officer', position: 3, color: 0xe6_7e_22 },
    { id: MEMBER_ROLE, name: 'Member', position: 1, color: 0x34_98_db },
    { id: BOT_ROLE, name: 'guildhall', position: 2, botId: BOT_ID },
  ],
  channels: [{ id: channels.demo, name: 'general', messages: [] }],
  members: [
    {
      userId: people.officer.id,
      nick: 'Olivia',
      roleIds: [servers.demo.officerRoleId, MEMBER_ROLE],
    },
    { userId: people.member.id, roleIds: [MEMBER_ROLE] },
    { userId: BOT_ID, roleIds: [BOT_ROLE] },
  ],
})

const rivalClub = () => ({
  id: servers.rival.id,
  name: 'Rival Club',
  ownerId: people.rivalOfficer.id,
  roles: [
    { id: servers.rival.id, name: '@everyone', position: 0 },
    { id: servers.rival.officerRoleId, name: 'Officer', position: 1 },
  ],
  channels: [{ id: channels.rival, name: 'general', messages: [] }],
  members: [
    { userId: people.rivalOfficer.id, roleIds: [servers.rival.officerRoleId] },
    { userId: BOT_ID, roleIds: [] },
  ],
})
