import { audit, enqueue } from '@guildhall/bus/outbox'
import { getFeedHistory, itemRequeued, retryItem } from '@guildhall/contracts/alerts'
import type { App } from '@guildhall/service/app'
import { AppError } from '@guildhall/service/errors'
import type { Deps } from '../deps.ts'
import { noFeed } from '../feeds/rules.ts'
import { findFeed } from '../runs/queries.ts'
import { lastItems, lastRuns, requeue, stateOf } from './queries.ts'

export function itemRoutes(app: App, { db }: Deps) {
  app.implement(getFeedHistory, async ({ org, params: { key } }) => {
    const feed = await findFeed(db, org.id, key)
    if (!feed) throw noFeed(key)
    const [runs, items] = await Promise.all([lastRuns(db, feed.id), lastItems(db, feed.id)])
    return { runs, items }
  })

  app.implement(retryItem, async ({ org, caller, params: { key, id } }) => {
    const feed = await findFeed(db, org.id, key)
    if (!feed) throw noFeed(key)
    const item = await db.transaction().execute(async (trx) => {
      const queued = await requeue(trx, feed.id, id)
      const { title = '' } = queued ?? {}
      if (queued) await enqueue(trx, audit(itemRequeued, caller, org, { key, item_id: id, title }))
      return queued
    })
    if (!item) throw notUncertain(await stateOf(db, feed.id, id))
    return { item }
  })
}

function notUncertain(state: string | undefined): AppError {
  if (state === undefined)
    return new AppError('not_found', 'item.not_found', 'The feed has no such item')
  return new AppError(
    'conflict',
    'item.not_uncertain',
    `The item is ${state}; only one of unknown outcome is posted again`,
  )
}
