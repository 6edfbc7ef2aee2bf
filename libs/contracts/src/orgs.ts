import { z } from 'zod'
import { CalendarSettings } from './calendar.ts'
import { call } from './call.ts'
import { anyPlatform, officer, officerOrTool } from './caller.ts'
import { audited } from './event.ts'
import { Instant, OrgIdParams, OrgName, OrgParams, OrgPrefix } from './fields.ts'
import { moduleNames, type Service, services } from './names.ts'
import { OrgConfig } from './org-config.ts'
import { route } from './route.ts'

/** Orgs and their module switches (interface.md, Org; decisions.md § 1). */

const ModuleName = z.enum(moduleNames)
export const Modules = z.record(ModuleName, z.boolean()).meta({ id: 'Modules' })

export const ChatServerId = z.string().regex(/^\d{5,25}$/, 'a chat server id is 5 to 25 digits')
export const ChatRoleId = z.string().regex(/^\d{5,25}$/, 'a role id is 5 to 25 digits')

export const Branding = z
  .object({
    logo_url: z.string().nullable(),
    accent_color: z.string().nullable().describe('#RRGGBB'),
    website_url: z.string().nullable(),
  })
  .meta({ id: 'Branding' })
export type Branding = z.output<typeof Branding>

export const Org = z
  .object({
    id: z.int(),
    prefix: OrgPrefix,
    name: z.string(),
    description: z.string(),
    chat_server_id: z.string(),
    officer_role_id: z.string().nullable(),
    modules: Modules,
    branding: Branding,
    publisher: z.boolean(),
    active: z.boolean(),
    created_at: Instant,
  })
  .meta({ id: 'Org' })
export type Org = z.output<typeof Org>

/** An org with what the modules keep for it. */
const OrgWithConfig = Org.extend({
  config: OrgConfig,
  calendar: CalendarSettings.nullable().describe('Also null while calendar does not answer'),
  last_sync_at: Instant.nullable().describe('When the calendar was last synced'),
}).meta({ id: 'OrgWithConfig' })

export const listOrgs = route({
  method: 'GET',
  url: '/api/organizations',
  summary: "The caller's orgs",
  owner: 'auth',
  caller: anyPlatform,
  reply: { 200: z.object({ organizations: z.array(Org) }) },
})

export const getOrg = route({
  method: 'GET',
  url: '/api/organizations/:org_id',
  summary: 'One org',
  owner: 'auth',
  caller: officerOrTool('org:read'),
  params: OrgIdParams,
  reply: { 200: OrgWithConfig },
})

export const OrgSettings = z
  .object({ name: OrgName, description: z.string().max(2000) })
  .partial()
  .refine((settings) => Object.keys(settings).length > 0, 'Send name, description or both')

export const putOrgSettings = route({
  method: 'PUT',
  url: '/api/organizations/:org_id/settings',
  summary: 'Change the name and the description',
  owner: 'auth',
  caller: officer,
  params: OrgIdParams,
  body: OrgSettings,
  reply: { 200: Org },
})

export const getModules = route({
  method: 'GET',
  url: '/api/organizations/:org_id/modules',
  summary: 'Which modules are on',
  owner: 'auth',
  caller: officer,
  params: OrgIdParams,
  reply: { 200: z.object({ modules: Modules }) },
})

export const putModules = route({
  method: 'PUT',
  url: '/api/organizations/:org_id/modules',
  summary: 'Switch modules on and off; those not named stay as they are',
  owner: 'auth',
  caller: officer,
  params: OrgIdParams,
  body: z.object({ modules: z.partialRecord(ModuleName, z.boolean()) }),
  reply: { 200: z.object({ modules: Modules }) },
})

export const getBranding = route({
  method: 'GET',
  url: '/api/dashboard/:org/branding',
  summary: "The org's logo, accent colour and website",
  owner: 'auth',
  caller: officerOrTool('org:read'),
  params: OrgParams,
  reply: { 200: Branding },
})

const removed = z.literal('').transform(() => null)
/** Kept as a URL is written by the book, so that it cannot end an attribute of a page that shows it. */
const HttpsUrl = z
  .url({ protocol: /^https$/, error: 'must be an https URL' })
  .max(2000)
  .refine(hasNoUser, 'must be a URL without user and password')
  .transform((url) => new URL(url).href)
const Color = z.string().regex(/^#[0-9A-Fa-f]{6}$/, 'must be a colour as #RRGGBB')

function hasNoUser(text: string) {
  const url = URL.parse(text)
  return url?.username === '' && url.password === ''
}

export const putBranding = route({
  method: 'PUT',
  url: '/api/dashboard/:org/branding',
  summary: 'Change branding; an empty text or null removes a value, those not named stay',
  owner: 'auth',
  caller: officer,
  params: OrgParams,
  body: z
    .object({
      logo_url: HttpsUrl.nullable().or(removed),
      accent_color: Color.nullable().or(removed),
      website_url: HttpsUrl.nullable().or(removed),
    })
    .partial()
    .refine(
      (branding) => Object.keys(branding).length > 0,
      'Send logo_url, accent_color or website_url',
    ),
  reply: { 200: Branding },
})

/** An org as the other services need it. */
export const OrgForServices = z.object({
  id: z.int(),
  prefix: z.string(),
  name: z.string(),
  /** Names of the modules that are on. */
  modules: z.array(z.string()),
  publisher: z.boolean(),
})

export const findOrg = call({
  service: 'auth',
  name: 'find_org',
  summary: 'An active org by its prefix or id',
  callers: ['gateway', 'knowledge', 'ops', 'compute', 'store', 'calendar', 'alerts'],
  args: z.union([z.object({ prefix: z.string() }), z.object({ id: z.int() })]),
  reply: z.object({ org: OrgForServices.nullable() }),
})

export const NewOrg = z.object({
  name: OrgName,
  prefix: OrgPrefix,
  chat_server_id: ChatServerId,
  officer_role_id: ChatRoleId.nullable(),
  /** Modules that start switched off. */
  off: z.array(ModuleName).default([]),
})

export const createOrg = call({
  service: 'auth',
  name: 'create_org',
  summary: 'Make an org; an equal one made before is answered as it is',
  callers: ['operator'],
  args: NewOrg,
  reply: z.object({ org: Org, created: z.boolean() }),
  deadlineMs: 8_000,
})

export const listAllOrgs = call({
  service: 'auth',
  name: 'list_all_orgs',
  summary: 'Every org there is, deactivated ones too',
  callers: ['operator'],
  args: z.object({}),
  reply: z.object({ organizations: z.array(Org) }),
})

export const switchModules = call({
  service: 'auth',
  name: 'switch_modules',
  summary: 'Switch modules of an org on and off',
  callers: ['operator'],
  args: z.object({ prefix: OrgPrefix, modules: z.partialRecord(ModuleName, z.boolean()) }),
  reply: z.object({ modules: Modules }),
})

/** Where public sources of others may be shown from: knowledge keeps the answer for seconds. */
export const listPublishers = call({
  service: 'auth',
  name: 'list_publishers',
  summary:
    'Ids of the active orgs that publish: those marked, and those with one of these prefixes',
  callers: ['knowledge'],
  args: z.object({ prefixes: z.array(z.string()) }),
  reply: z.object({ org_ids: z.array(z.int()) }),
})

/** Longest that one service may take to delete all it has of an org. */
const PURGE_MS = 60_000

/** Asked before the org's key of the pod host is deleted: afterwards nobody could end what they cost. */
export const endPods = call({
  service: 'compute',
  name: 'end_pods',
  summary:
    'Terminate every pod of a deactivated org, and name those that are left; may be repeated',
  callers: ['auth'],
  args: z.object({ org_id: z.int() }),
  reply: z.object({
    left: z.array(z.string()).describe('Name and id at the pod host'),
    reason: z.string().nullable().describe('Why they could not be terminated'),
  }),
  deadlineMs: PURGE_MS,
})

/** Every service but auth answers this for what it keeps. */
export const purgeOrgOf = (service: Service) =>
  call({
    service,
    name: 'purge_org',
    summary: 'Delete everything that the service keeps of a deactivated org; may be repeated',
    callers: ['auth'],
    args: z.object({ org_id: z.int() }),
    reply: z.object({}),
    deadlineMs: PURGE_MS,
  })
export const purgedServices = services.filter((service) => service !== 'auth')
export const purgeCalls = purgedServices.map(purgeOrgOf)

/** Every service but auth answers this, by the frame that all share. */
export const forgetOrgOf = (service: Service) =>
  call({
    service,
    name: 'forget_org',
    summary: 'Drop what is kept in memory of an org that was just deactivated',
    callers: ['auth'],
    args: z.object({ org_id: z.int() }),
    reply: z.object({}),
  })
export const forgetCalls = purgedServices.map(forgetOrgOf)

/** Which services did as they were asked, and which did not and why. */
export const Acknowledged = z.object({
  acknowledged: z.array(z.string()),
  missing: z.array(z.object({ service: z.string(), reason: z.string() })),
})

export const purgeOrg = call({
  service: 'auth',
  name: 'purge_org',
  summary: 'Delete a deactivated org here and at every service; may be repeated',
  callers: ['operator'],
  args: z.object({
    prefix: OrgPrefix,
    leave_pods: z.boolean().default(false).describe('Also where pods go on costing'),
  }),
  reply: Acknowledged.extend({ org_id: z.int() }),
  deadlineMs: 2 * PURGE_MS + 10_000,
})

export const orgCreated = audited('auth.org.created', z.object({ prefix: z.string() }))
export const orgSettingsChanged = audited(
  'auth.org.settings_changed',
  z.object({ fields: z.array(z.string()) }),
)
export const brandingChanged = audited(
  'auth.org.branding_changed',
  z.object({ fields: z.array(z.string()) }),
)
export const orgPurged = audited('auth.org.purged', z.object({ prefix: z.string() }))
export const modulesSwitched = audited(
  'auth.org.modules_switched',
  z.object({ modules: z.record(z.string(), z.boolean()) }),
)
