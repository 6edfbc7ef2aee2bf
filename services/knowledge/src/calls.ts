import { answer } from '@guildhall/bus/calls'
import type { Bus } from '@guildhall/bus/connect'
import { findRebuild } from '@guildhall/contracts/knowledge'
import { purgeOrgOf } from '@guildhall/contracts/orgs'
import type { Deps } from './deps.ts'
import { rebuildProgress } from './indexing/rebuild.ts'
import { purgeSources } from './sources/purge.ts'

/** What knowledge answers over NATS. */
export function answerCalls(bus: Bus, deps: Deps) {
  answer(bus, purgeOrgOf('knowledge'), async ({ org_id }) => {
    await purgeSources(deps, org_id)
    return {}
  })
  answer(bus, findRebuild, async () => ({ rebuild: await rebuildProgress(deps.db) }))
}
