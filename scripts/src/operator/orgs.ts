import { ask } from '@guildhall/bus/calls'
import { type ModuleName, moduleNames } from '@guildhall/contracts/names'
import { createOrg, listAllOrgs, type Org, switchModules } from '@guildhall/contracts/orgs'
import type { Env } from '@guildhall/service/config'
import { type Said, table, UsageError, withBus } from './context.ts'

export interface OrgFlags {
  name?: string | undefined
  prefix?: string | undefined
  'guild-id'?: string | undefined
  'officer-role-id'?: string | undefined
  on?: string | undefined
  off?: string | undefined
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

function row({ id, prefix, name, chat_server_id, officer_role_id, modules }: Org) {
  const off = Object.entries(modules).flatMap(([module, isOn]) => (isOn ? [] : [module]))
  return { id, prefix, name, chat_server_id, officer_role_id, off: off.join(',') || 'none' }
}
