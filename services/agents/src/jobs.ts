import { handles, pruneBus } from '@guildhall/bus/jobs'
import { pruneJobs } from '@guildhall/contracts/ops'
import type { Deps } from './deps.ts'
import { prune } from './orgs/prune.ts'

/** What agents runs. */
export const jobHandlers = (deps: Deps) => [
  handles(pruneJobs.agents, async () => {
    const deleted = await prune(deps)
    await pruneBus(deps.db)
    return deleted
  }),
]
