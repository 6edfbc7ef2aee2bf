import { handles, pruneBus } from '@guildhall/bus/jobs'
import { pruneJobs } from '@guildhall/contracts/ops'
import type { Deps } from './deps.ts'
import { prune } from './orgs/prune.ts'

/** What agents runs. */
export const jobHandlers = (deps: Deps) => [
  handles(pruneJobs.agents, async (_args, { signal }) => {
    const deleted = await prune(deps, signal)
    await pruneBus(deps.db)
    return deleted
  }),
]
