import { handles, pruneBus } from '@guildhall/bus/jobs'
import { pruneJobs } from '@guildhall/contracts/ops'
import { pruneSessions } from './accounts/sessions.ts'
import { pruneAppTokens } from './app-tokens/queries.ts'
import type { Deps } from './deps.ts'
import { pruneTokens } from './machine-tokens/queries.ts'
import { prunePairs } from './token-pairs/queries.ts'

/** What auth runs. */
export const jobHandlers = ({ db, now }: Deps) => [
  handles(pruneJobs.auth, async () => {
    await prunePairs(db, now())
    await pruneSessions(db, now())
    await pruneAppTokens(db, now())
    await pruneTokens(db, now())
    await pruneBus(db)
  }),
]
