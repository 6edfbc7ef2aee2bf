import { listAudit, listOrgAudit } from '@guildhall/contracts/ops'
import type { App } from '@guildhall/service/app'
import { pageOf } from '@guildhall/service/paging'
import type { Deps } from '../deps.ts'
import { auditLines } from './queries.ts'

export function auditRoutes(app: App, { db }: Deps) {
  app.implement(listOrgAudit, async ({ org, query: { limit, cursor, ...asked } }) => {
    const filters = { ...asked, org_id: org.id }
    const { items, next_cursor } = await pageOf(
      { limit, cursor, bound: ['audit', filters] },
      (page) => auditLines(db, filters, page),
    )
    return { entries: items, next_cursor }
  })

  app.implement(listAudit, async ({ query: { limit, cursor, ...asked } }) => {
    const filters = { ...asked, org_id: undefined }
    const { items, next_cursor } = await pageOf(
      { limit, cursor, bound: ['audit', filters] },
      (page) => auditLines(db, filters, page),
    )
    return { entries: items, next_cursor }
  })
}
