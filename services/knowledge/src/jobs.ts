import { handles, pruneBus } from '@guildhall/bus/jobs'
import { indexPending } from '@guildhall/contracts/knowledge'
import { pruneJobs } from '@guildhall/contracts/ops'
import type { Deps } from './deps.ts'

/** What knowledge runs. */
export const jobHandlers = ({ db, index, indexer }: Deps) => [
  handles(indexPending, (_args, { signal }) => indexer.settleAll(signal)),
  handles(pruneJobs.knowledge, async (_args, { signal }) => {
    await indexer.settleAll(signal) // versions left over leave the index
    await index.upkeep()
    await pruneBus(db)
  }),
]
