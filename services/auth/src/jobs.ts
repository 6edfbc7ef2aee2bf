import { ask } from '@guildhall/bus/calls'
import { handles, pruneBus } from '@guildhall/bus/jobs'
import { tellLink } from '@guildhall/contracts/accounts'
import { pruneJobs } from '@guildhall/contracts/ops'
import { linkPeople } from '@guildhall/contracts/store-members'
import { linkedEmail } from './accounts/links.ts'
import { pruneSessions } from './accounts/sessions.ts'
import { pruneAppTokens } from './app-tokens/queries.ts'
import type { Deps } from './deps.ts'
import { pruneTokens } from './machine-tokens/queries.ts'
import { prunePairs } from './token-pairs/queries.ts'

/** What auth runs. */
export const jobHandlers = ({ db, bus, now }: Deps) => [
  handles(tellLink, async ({ chat_user_id }) => {
    const email = await linkedEmail(db, chat_user_id)
    if (email !== null) await ask(bus, linkPeople, { chat_user_id, email })
  }),
  handles(pruneJobs.auth, async () => {
    await prunePairs(db, now())
    await pruneSessions(db, now())
    await pruneAppTokens(db, now())
    await pruneTokens(db, now())
    await pruneBus(db)
  }),
]
