import { z } from 'zod'
import { call } from './call.ts'
import { anyPlatform, officer } from './caller.ts'
import { audited } from './event.ts'
import { Instant, OrgIdParams, OrgPrefix } from './fields.ts'
import { moduleNames } from './names.ts'
import { route } from './route.ts'

/** Orgs and their module switches (interface.md, Org; decisions.md § 1). */

const ModuleName = z.enum(moduleNames)
export const Modules = z.record(ModuleName, z.boolean()).meta({ id: 'Modules' })

export const Org = z
  .object({
    id: z.int(),
    prefix: OrgPrefix,
    name: z.string(),
    description: z.string(),
    chat_server_id: z.string(),
    officer_role_id: z.string().nullable(),
    modules: Modules,
    publisher: z.boolean(),
    active: z.boolean(),
    created_at: Instant,
  })
  .meta({ id: 'Org' })
export type Org = z.output<typeof Org>

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
  caller: officer,
  params: OrgIdParams,
  reply: { 200: Org },
})

export const OrgSettings = z
  .object({ name: z.string().trim().min(1).max(100), description: z.string().max(2000) })
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
  callers: ['gateway', 'knowledge', 'ops'],
  args: z.union([z.object({ prefix: z.string() }), z.object({ id: z.int() })]),
  reply: z.object({ org: OrgForServices.nullable() }),
})

export const NewOrg = z.object({
  name: z.string().trim().min(1).max(100),
  prefix: OrgPrefix,
  chat_server_id: z.string().regex(/^\d{5,25}$/, 'a chat server id is 5 to 25 digits'),
  officer_role_id: z
    .string()
    .regex(/^\d{5,25}$/, 'a role id is 5 to 25 digits')
    .nullable(),
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
  summary: 'Every org there is',
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

export const orgCreated = audited('auth.org.created', z.object({ prefix: z.string() }))
export const orgSettingsChanged = audited(
  'auth.org.settings_changed',
  z.object({ fields: z.array(z.string()) }),
)
export const modulesSwitched = audited(
  'auth.org.modules_switched',
  z.object({ modules: z.record(z.string(), z.boolean()) }),
)
