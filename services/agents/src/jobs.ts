import { handles, pruneBus } from '@guildhall/bus/jobs'
import { embedNodes } from '@guildhall/contracts/agent-profile'
import { pruneJobs } from '@guildhall/contracts/ops'
import type { Deps } from './deps.ts'
import { prune } from './orgs/prune.ts'
import { ALL_BATCHES, embedLacking } from './profile/vectors.ts'

/** What agents runs. */
export const jobHandlers = (deps: Deps) => [
  handles(pruneJobs.agents, async () => {
    const deleted = await prune(deps)
    await pruneBus(deps.db)
    return deleted
  }),
  handles(embedNodes, ({ model, ...owner }) =>
    embedLacking(deps, owner, { model, batches: ALL_BATCHES }),
  ),
]
