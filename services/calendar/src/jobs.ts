import { handles, pruneBus } from '@guildhall/bus/jobs'
import { syncAllOrgs, syncOrg } from '@guildhall/contracts/calendar'
import { postDueEvents } from '@guildhall/contracts/event-posts'
import { pruneJobs } from '@guildhall/contracts/ops'
import type { Trx } from './db.ts'
import type { Deps } from './deps.ts'
import { pruneRuns } from './orgs/prune.ts'
import { postDue } from './posts/run.ts'
import { endFailed } from './sync/queries.ts'
import { runSync } from './sync/run.ts'
import { startAgain, startEnabled } from './sync/start.ts'

/** What calendar runs. */
export const jobHandlers = (deps: Deps) => [
  handles(
    syncOrg,
    (args, context) => runSync(deps, args, context),
    (trx: Trx, run) => endFailed(trx, run, deps.now()),
    (trx: Trx, run) => startAgain(trx, run, deps.now()),
  ),
  handles(syncAllOrgs, () => startEnabled(deps)),
  handles(postDueEvents, (_args, { signal }) => postDue(deps, signal)),
  handles(pruneJobs.calendar, async () => {
    await pruneRuns(deps.db, deps.now())
    await pruneBus(deps.db)
  }),
]
