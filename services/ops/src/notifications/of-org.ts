import { type Problem, problemServices, tellProblems } from '@guildhall/contracts/notifications'
import type { OrgRef } from '@guildhall/contracts/route'
import { answerOf } from '../answer-of.ts'
import type { Deps } from '../deps.ts'
import { resolvedOf } from './queries.ts'
import { notificationsFrom } from './rules.ts'

const moduleOf = {
  feed: 'alerts',
  deploy: 'apps',
  crawl: 'knowledge',
  sync: 'calendar',
  session: 'compute',
} as const satisfies Record<Problem['kind'], string>

/** The notifications of the modules that are on, and the services that did not tell theirs. */
export async function notificationsOf(deps: Deps, { id: org_id, modules }: OrgRef) {
  const [resolved, ...told] = await Promise.all([
    resolvedOf(deps.db, org_id),
    ...problemServices.map((service) => answerOf(deps, tellProblems(service), { org_id })),
  ])
  const problems = told.flatMap((one) => one?.problems ?? [])
  const shown = problems.filter(({ kind }) => modules.includes(moduleOf[kind]))
  return {
    notifications: notificationsFrom(shown, resolved),
    unavailable: problemServices.filter((_, n) => told[n] === undefined),
  }
}
