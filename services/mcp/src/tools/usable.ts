import { ask } from '@guildhall/bus/calls'
import { onChanged } from '@guildhall/bus/changed'
import type { Bus } from '@guildhall/bus/connect'
import type { Caller } from '@guildhall/contracts/caller'
import { changed } from '@guildhall/contracts/event'
import type { OrgRef, Route } from '@guildhall/contracts/route'
import { withinLimits } from '@guildhall/contracts/token-limits'
import { findToolAccess, type Tool } from '@guildhall/contracts/tool'
import { tools } from '@guildhall/contracts/tools'
import { isDisabled } from '@guildhall/service/config'
import { kept } from '@guildhall/service/kept'
import { LRUCache } from 'lru-cache'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'

type Machine = Extract<Caller, { kind: 'machine' }>
type Access = z.output<typeof findToolAccess.reply>

/** Who asks for tools: a machine token and its org. */
export interface Asker {
  caller: Machine
  org: OrgRef
  request_id: string
}
export type AccessOf = (asker: Pick<Asker, 'caller' | 'org'>) => Promise<Access>

const MOST_KEPT = 10_000
const KEPT_MS = 10_000

/** Asks auth, and keeps the answer for ten seconds; what changes is dropped at once. */
export function createAccessOf(bus: Bus): AccessOf {
  const known = new LRUCache<string, Access, { org_id: number; token_id: string }>({
    max: MOST_KEPT,
    ttl: KEPT_MS,
    fetchMethod: (_key, _stale, { context }) => ask(bus, findToolAccess, context),
  })
  onChanged(bus, changed.org, () => known.clear())
  onChanged(bus, changed.machineToken, () => known.clear())
  return ({ caller: { token_id }, org }) =>
    kept(known, token_id, { context: { org_id: org.id, token_id } })
}

/** The tools that a token may use: scope held, module and route on, service connected, and within its limits. */
export async function usableTools(
  { accessOf, config }: Pick<Deps, 'accessOf' | 'config'>,
  asker: Asker,
): Promise<Tool[]> {
  const { caller, org } = asker
  const held = tools.filter(
    ({ scope, route }) =>
      caller.scopes.includes(scope) &&
      (!route.module || org.modules.includes(route.module)) &&
      !isDisabled(pathFor(route, org), config.DISABLED_ROUTES),
  )
  if (held.length === 0) return []
  const access = await accessOf(asker)
  return held.filter((tool) => isWithin(tool, access))
}

/** The path of the route in this org, as far as it is the same for every call. */
const pathFor = ({ url }: Route, { id, prefix }: OrgRef) =>
  url.replace(/:org(?=\/|$)/, prefix).replace(/:org_id(?=\/|$)/, String(id))

function isWithin({ name, integration, optional }: Tool, { connected, limits }: Access): boolean {
  if (!limits) return false // the token does not count any more
  if (!integration) return true
  const isThere = optional === true || connected.includes(integration)
  return isThere && withinLimits(limits, integration, 'tools', name)
}
