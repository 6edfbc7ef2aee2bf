import { ask } from '@guildhall/bus/calls'
import { onChanged } from '@guildhall/bus/changed'
import type { Bus } from '@guildhall/bus/connect'
import { changed } from '@guildhall/contracts/event'
import { findOrg } from '@guildhall/contracts/orgs'
import type { OrgRef } from '@guildhall/contracts/route'
import { kept } from '@guildhall/service/kept'
import { LRUCache } from 'lru-cache'

/** How long an answer counts where a change was not heard of. */
const KEPT_MS = 60_000
const ORGS_KEPT = 1_000

/** An org that is active and has knowledge on; nothing of any other. Throws AppError('unavailable') while auth does not answer. */
export type Orgs = (orgId: number) => Promise<OrgRef | undefined>

export function createOrgs(bus: Bus): Orgs {
  const known = new LRUCache<number, { org: OrgRef | null }>({
    max: ORGS_KEPT,
    ttl: KEPT_MS,
    fetchMethod: (id) => ask(bus, findOrg, { id }),
  })
  onChanged(bus, changed.org, (id) => known.delete(Number(id)))
  return async (orgId) => {
    const { org } = await kept(known, orgId)
    return org?.modules.includes('knowledge') ? org : undefined
  }
}
