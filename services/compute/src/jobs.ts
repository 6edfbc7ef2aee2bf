import { handles, pruneBus } from '@guildhall/bus/jobs'
import { pruneJobs } from '@guildhall/contracts/ops'
import type { Deps } from './deps.ts'

/** What compute runs. */
export const jobHandlers = ({ db }: Deps) => [handles(pruneJobs.compute, () => pruneBus(db))]
