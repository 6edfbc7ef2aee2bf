import { type ModuleName, moduleNames } from '@guildhall/contracts/names'
import type { Org } from '@guildhall/contracts/orgs'
import type { OrgRef } from '@guildhall/contracts/route'
import { AppError } from '@guildhall/service/errors'
import type { OrgRow } from '../db.ts'

/** Words that stand in URLs where a prefix may stand (decisions.md § 1). */
const RESERVED = [
  'cli',
  'sync-all',
  'members',
  'sources',
  'packs',
  'campus',
  'api',
  'health',
  'docs',
  'mcp',
]

/** Throws unless an org may be made with these. */
export function checkNewOrg({
  prefix,
  chat_server_id,
  officer_role_id,
}: Pick<Org, 'prefix' | 'chat_server_id' | 'officer_role_id'>) {
  if (RESERVED.includes(prefix))
    throw new AppError(
      'invalid',
      'org.prefix_reserved',
      `The prefix ${prefix} is reserved; take another`,
    )
  // the everyone role of a server has the server's own id
  if (officer_role_id === chat_server_id)
    throw new AppError(
      'invalid',
      'org.officer_role',
      'The everyone role cannot be the officer role',
    )
}

/** Switches the named modules and leaves the others: the names that are off afterwards. */
export function switchedOff(
  off: readonly string[],
  switches: Partial<Record<ModuleName, boolean>>,
): string[] {
  return moduleNames.filter((name) => !(switches[name] ?? !off.includes(name)))
}

export const modulesOf = ({ modules_off }: Pick<OrgRow, 'modules_off'>) =>
  Object.fromEntries(moduleNames.map((name) => [name, !modules_off.includes(name)])) as Record<
    ModuleName,
    boolean
  >

/** An org as officers see it. */
export function shownOrg({ modules_off, created_at, ...org }: OrgRow): Org {
  return { ...org, modules: modulesOf({ modules_off }), created_at: created_at.toISOString() }
}

/** An org as the other services see it. */
export function orgRef({
  id,
  prefix,
  name,
  modules_off,
  publisher,
}: OrgRow): OrgRef & { modules: string[] } {
  return {
    id,
    prefix,
    name,
    publisher,
    modules: moduleNames.filter((one) => !modules_off.includes(one)),
  }
}
