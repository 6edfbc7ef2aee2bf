import { ask } from '@guildhall/bus/calls'
import { type ModuleName, moduleNames } from '@guildhall/contracts/names'
import {
  createOrg,
  listAllOrgs,
  type Org,
  purgeOrg,
  switchModules,
} from '@guildhall/contracts/orgs'
import { type Env, SettingsError } from '@guildhall/service/config'
import { type Said, table, UsageError, withBus } from './context.ts'

export interface OrgFlags {
  name?: string | undefined
  prefix?: string | undefined
  'guild-id'?: string | undefined
  'officer-role-id'?: string | undefined
  on?: string | undefined
  off?: string | undefined
}

export interface PurgeFlags {
  yes?: boolean | undefined
  'leave-pods'?: boolean | undefined
}

export async function orgList(env: Env): Promise<Said> {
  const { organizations } = await withBus(env, (bus) => ask(bus, listAllOrgs, {}))
  const text =
    organizations.length > 0
      ? table(organizations.map(row))
      : 'No orgs yet. Make one with: org create'
  return { text, json: organizations }
}

export async function orgCreate(env: Env, flags: OrgFlags): Promise<Said> {
  const {
    name,
    prefix,
    'guild-id': chat_server_id,
    'officer-role-id': officer_role_id = null,
  } = flags
  if (!name || !prefix || !chat_server_id)
    throw new UsageError('org create needs --name, --prefix and --guild-id')
  const wanted = { name, prefix, chat_server_id, officer_role_id, off: modulesIn(flags.off) }
  const { org, created } = await withBus(env, (bus) => ask(bus, createOrg, wanted))
  return {
    text: `${created ? 'Made' : 'There already:'}\n${table([row(org)])}`,
    json: { ...org, created },
  }
}

export async function orgModules(
  env: Env,
  prefix: string | undefined,
  { on, off }: OrgFlags,
): Promise<Said> {
  if (!prefix)
    throw new UsageError('Name the org: org modules <prefix> --on <module> --off <module>')
  const switches = Object.fromEntries([
    ...modulesIn(on).map((name) => [name, true]),
    ...modulesIn(off).map((name) => [name, false]),
  ])
  const { modules } = await withBus(env, (bus) =>
    ask(bus, switchModules, { prefix, modules: switches }),
  )
  const rows = Object.entries(modules).map(([module, isOn]) => ({
    module,
    state: isOn ? 'on' : 'off',
  }))
  return { text: table(rows), json: modules }
}

/** Deletes a deactivated org for good. Throws where a service has not acknowledged; to be repeated then. */
export async function orgPurge(
  env: Env,
  prefix: string | undefined,
  { yes, 'leave-pods': leave_pods = false }: PurgeFlags,
): Promise<Said> {
  if (!prefix) throw new UsageError('Name the org: org purge <prefix> --yes')
  if (!yes)
    throw new UsageError(
      `This deletes ${prefix} and everything that it has, for good. Make a backup, then add --yes`,
    )
  const purged = await withBus(env, (bus) => ask(bus, purgeOrg, { prefix, leave_pods }))
  const { org_id, acknowledged, missing } = purged
  const done = `Org ${org_id} (${prefix}) is deleted at auth${acknowledged.map((one) => `, ${one}`).join('')}`
  if (missing.length === 0) return { text: done, json: purged }
  const rows = table(missing.map(({ service, reason }) => ({ 'not at': service, reason })))
  throw new SettingsError(`${done}\n${rows}\nRun the same command again once they answer`)
}

function modulesIn(list = ''): ModuleName[] {
  const names = list
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean)
  const unknown = names.find((name) => !moduleNames.includes(name as ModuleName))
  if (unknown)
    throw new UsageError(`There is no module ${unknown}; modules are ${moduleNames.join(', ')}`)
  return names as ModuleName[]
}

function row({ id, prefix, name, chat_server_id, officer_role_id, modules, active }: Org) {
  const off = Object.entries(modules).flatMap(([module, isOn]) => (isOn ? [] : [module]))
  return {
    id,
    prefix,
    name,
    chat_server_id,
    officer_role_id,
    off: off.join(',') || 'none',
    active: active ? 'yes' : 'no',
  }
}
