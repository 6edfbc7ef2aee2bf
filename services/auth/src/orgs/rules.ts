import { type ModuleName, moduleNames } from '@guildhall/contracts/names'
import type { Branding, Org } from '@guildhall/contracts/orgs'
import type { OrgRef } from '@guildhall/contracts/route'
import type { OrgRow } from '../db.ts'

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

export const brandingOf = ({ logo_url, accent_color, website_url }: OrgRow): Branding => ({
  logo_url,
  accent_color,
  website_url,
})

/** An org as officers see it. */
export function shownOrg(row: OrgRow): Org {
  const { modules_off, created_at, logo_url, accent_color, website_url, ...org } = row
  const modules = modulesOf({ modules_off })
  return { ...org, modules, branding: brandingOf(row), created_at: created_at.toISOString() }
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
