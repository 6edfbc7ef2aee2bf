import { handles, pruneBus } from '@guildhall/bus/jobs'
import { indexPending, rebuildSearchIndex } from '@guildhall/contracts/knowledge'
import { reembed } from '@guildhall/contracts/knowledge-settings'
import { pruneJobs } from '@guildhall/contracts/ops'
import type { Deps } from './deps.ts'
import { rebuildIndex, retireOld } from './indexing/rebuild.ts'
import { reembedOrg } from './reembed/run.ts'

/** What knowledge runs. */
export const jobHandlers = (deps: Deps) => [
  handles(indexPending, async (_args, { signal }) => {
    await retireOld(deps, signal, 'leave')
    return await deps.indexer.settleAll(signal)
  }),
  handles(rebuildSearchIndex, (_args, { signal }) => rebuildIndex(deps, signal)),
  handles(reembed, ({ org_id }, { signal }) => reembedOrg(deps, org_id, signal)),
  handles(pruneJobs.knowledge, async (_args, { signal }) => {
    await deps.indexer.settleAll(signal) // versions left over leave the index
    await deps.index.upkeep()
    await pruneBus(deps.db)
  }),
]
