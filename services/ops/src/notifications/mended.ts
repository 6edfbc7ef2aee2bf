import { MOST_PROBLEMS, problemServices, tellProblems } from '@guildhall/contracts/notifications'
import { answerOf } from '../answer-of.ts'
import type { Deps } from '../deps.ts'
import { deleteMended, orgsWithResolved } from './queries.ts'
import { idOf } from './rules.ts'

/** Forgets what officers resolved and no service tells of any more: when it comes back, it is open. */
export async function forgetMendedOf(deps: Deps) {
  for (const org_id of await orgsWithResolved(deps.db)) {
    const before = deps.now()
    const told = await problemIdsOf(deps, org_id)
    if (told) await deleteMended(deps.db, { org_id, told, before })
  }
}

/** The ids of all that does not work; nothing where a service does not answer, or tells only the first of many. */
async function problemIdsOf(deps: Deps, org_id: number): Promise<string[] | undefined> {
  const told = await Promise.all(
    problemServices.map((service) => answerOf(deps, tellProblems(service), { org_id })),
  )
  const whole = told.every((one) => one && one.problems.length < MOST_PROBLEMS)
  return whole ? told.flatMap((one) => one?.problems ?? []).map(idOf) : undefined
}
