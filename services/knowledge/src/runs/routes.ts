import { listKnowledgeRuns } from '@guildhall/contracts/knowledge-settings'
import type { App } from '@guildhall/service/app'
import { pageOf } from '@guildhall/service/paging'
import type { Deps } from '../deps.ts'
import { runsOfOrg } from './queries.ts'

export function runRoutes(app: App, { db }: Deps) {
  app.implement(listKnowledgeRuns, async ({ org, query: { limit, cursor, failed } }) => {
    const filters = { org_id: org.id, failed }
    const { items, next_cursor } = await pageOf(
      { limit, cursor, bound: ['knowledge_runs', filters] },
      (page) => runsOfOrg(db, filters, page),
    )
    return { runs: items, next_cursor }
  })
}
