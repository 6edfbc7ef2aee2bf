import { MOST_PROBLEMS, problemServices, tellProblems } from '@guildhall/contracts/notifications'
import { answerOf } from '../answer-of.ts'
import type { Deps } from '../deps.ts'
import { deleteMended, orgsWithResolved } from './queries.ts'
import { idOf } from './rules.ts'

/** Forgets what officers resolved and no service tells of any more: when it comes back, it is open. */
export async function forgetMendedOf(deps: Deps) {
  for (const org_id of await orgsWithResolved(deps.db)) {
    const before = deps.now()
    const answers = await Promise.all(
      problemServices.map((service) => answerOf(deps, tellProblems(service), { org_id })),
    )
    const problems = answers.flatMap((one) => one?.problems ?? [])
    if (answers.includes(undefined)) return // it is silent for the next org too; the next run looks again
    if (answers.some((one) => one?.problems.length === MOST_PROBLEMS)) continue // only the first of many
    await deleteMended(deps.db, { org_id, told: problems.map(idOf), before })
  }
}
