import { listErrors } from '@guildhall/contracts/ops'
import type { App } from '@guildhall/service/app'
import { pageOf } from '@guildhall/service/paging'
import type { Deps } from '../deps.ts'
import { errorGroups } from './queries.ts'

export function errorRoutes(app: App, { db }: Deps) {
  app.implement(listErrors, async ({ query: { limit, cursor } }) => {
    const { items, next_cursor } = await pageOf(
      { limit, cursor, bound: 'errors' },
      (page) => errorGroups(db, page),
      ({ last_seen, id }) => `${last_seen} ${id}`,
    )
    return { errors: items, next_cursor }
  })
}
