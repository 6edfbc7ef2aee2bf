import { chatUnavailable } from '../clients/chat.ts'
import type { Deps } from '../deps.ts'
import { allOrgs, orgsOfPerson } from './queries.ts'

/**
 * The orgs on which a person may act now; `degraded` where the chat platform did not tell of some, which are left out.
 * Throws 503 where it told of none.
 */
export async function administeredOrgs({ db, access }: Deps, chat_user_id: string, type?: 'app') {
  const superadmin = type !== 'app' && access.isSuperadmin(chat_user_id)
  const all = superadmin ? await allOrgs(db) : await orgsOfPerson(db, chat_user_id)
  const decisions = await Promise.all(all.map((org) => access.decide(chat_user_id, org, type)))
  const orgs = all.filter((_, i) => decisions[i]?.allowed)
  const degraded = decisions.some(({ reason }) => reason === 'bot_unavailable')
  if (degraded && orgs.length === 0) throw chatUnavailable()
  return { orgs, degraded }
}
