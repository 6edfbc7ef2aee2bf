import { handles, pruneBus } from '@guildhall/bus/jobs'
import { pruneJobs } from '@guildhall/contracts/ops'
import type { Deps } from './deps.ts'

/** What mcp runs. */
export const jobHandlers = ({ db }: Deps) => [handles(pruneJobs.mcp, () => pruneBus(db))]
