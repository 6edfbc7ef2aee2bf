import { handles, pruneBus } from '@guildhall/bus/jobs'
import { indexPending, rebuildSearchIndex } from '@guildhall/contracts/knowledge'
import { pruneJobs } from '@guildhall/contracts/ops'
import type { Deps } from './deps.ts'
import { rebuildIndex, retireOld } from './indexing/rebuild.ts'

/** What knowledge runs. */
export const jobHandlers = ({ db, index, indexer, log }: Deps) => [
  handles(indexPending, async (_args, { signal }) => {
    await retireOld({ db, index, indexer, log }, signal, 'leave')
    return await indexer.settleAll(signal)
  }),
  handles(rebuildSearchIndex, (_args, { signal }) =>
    rebuildIndex({ db, index, indexer, log }, signal),
  ),
  handles(pruneJobs.knowledge, async (_args, { signal }) => {
    await indexer.settleAll(signal) // versions left over leave the index
    await index.upkeep()
    await pruneBus(db)
  }),
]
