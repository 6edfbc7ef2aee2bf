import { handles, pruneBus } from '@guildhall/bus/jobs'
import { pruneJobs } from '@guildhall/contracts/ops'
import type { Deps } from './deps.ts'

/** What the bot runs. */
export const jobHandlers = ({ db }: Pick<Deps, 'db'>) => [
  handles(pruneJobs.bot, () => pruneBus(db)),
]
