import { handles, pruneBus } from '@guildhall/bus/jobs'
import { checkDeployments } from '@guildhall/contracts/apps'
import { reconcilePods } from '@guildhall/contracts/compute'
import { pruneJobs } from '@guildhall/contracts/ops'
import { scheduleSessions } from '@guildhall/contracts/pod-sessions'
import { checkApps } from './apps/check.ts'
import type { Deps } from './deps.ts'
import { prunePods } from './orgs/prune.ts'
import { reconcile } from './pods/reconcile.ts'
import { runSchedule } from './sessions/schedule.ts'

/** What compute runs. */
export const jobHandlers = (deps: Deps) => [
  handles(scheduleSessions, (_args, { log, signal }) => runSchedule(deps, log, signal)),
  handles(reconcilePods, (_args, { log, signal }) => reconcile(deps, log, signal)),
  handles(checkDeployments, (_args, { log, signal }) => checkApps(deps, log, signal)),
  handles(pruneJobs.compute, async () => {
    await prunePods(deps.db, deps.now())
    await pruneBus(deps.db)
  }),
]
