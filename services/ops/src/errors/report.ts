import { MOST_REPORTS_PER_MINUTE, reportError } from '@guildhall/contracts/error-groups'
import type { App } from '@guildhall/service/app'
import { newId } from '@guildhall/service/id'
import { counter, spend } from '@guildhall/service/rate'
import type { Deps } from '../deps.ts'
import { stackWithoutQueries, withoutQueries } from './rules.ts'
import { storeError } from './store.ts'

/** What a browser reports is an error of this service. */
const DASHBOARD = 'dashboard'

export function reportRoutes(app: App, { db, now }: Deps) {
  const reports = counter(MOST_REPORTS_PER_MINUTE)
  app.implement(reportError, async ({ org, caller, body, request_id }, reply) => {
    await spend(reports, caller.chat_user_id)
    const { message, kind, stack, route } = body
    await storeError(db, {
      id: newId(),
      created_at: now().toISOString(),
      service: DASHBOARD,
      org_id: org.id,
      kind,
      message: withoutQueries(message),
      stack: stack ? stackWithoutQueries(stack) : null,
      route: route?.replace(/[?#].*$/s, '') || null,
      request_id,
      dropped_before: 0,
    })
    return reply.code(202).send({ reported: true })
  })
}
