import { handles, pruneBus } from '@guildhall/bus/jobs'
import { runDueFeeds, runFeed } from '@guildhall/contracts/alerts'
import { pruneJobs } from '@guildhall/contracts/ops'
import type { Deps } from './deps.ts'
import { prune } from './orgs/prune.ts'
import { runDue } from './runs/due.ts'
import { run } from './runs/run.ts'

/** What alerts runs. */
export const jobHandlers = (deps: Deps) => [
  handles(runDueFeeds, () => runDue(deps)),
  handles(runFeed, (args, { signal }) => run(deps, args, signal)),
  handles(pruneJobs.alerts, async () => {
    const deleted = await prune(deps.db, deps.now())
    await pruneBus(deps.db)
    return deleted
  }),
]
