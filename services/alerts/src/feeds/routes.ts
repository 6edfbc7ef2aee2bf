import { queueJob } from '@guildhall/bus/jobs'
import { audit, enqueue } from '@guildhall/bus/outbox'
import {
  deleteFeed,
  feedDeleted,
  feedRunQueued,
  getFeed,
  listFeeds,
  runFeed,
  runFeedNow,
} from '@guildhall/contracts/alerts'
import type { App } from '@guildhall/service/app'
import { removeWebhook, webhookKeys } from '../clients/webhooks.ts'
import type { Deps } from '../deps.ts'
import { findFeed } from '../runs/queries.ts'
import { feedsOf, lockFeeds, removeFeed } from './queries.ts'
import { noFeed, shownFeed } from './rules.ts'

export function feedRoutes(app: App, { db, bus }: Deps) {
  app.implement(listFeeds, async ({ org }) => {
    const [rows, keys] = await Promise.all([feedsOf(db, org.id), webhookKeys(bus, org.id)])
    return { feeds: rows.map((row) => shownFeed(row, countsOf(row), keys.has(row.key))) }
  })

  app.implement(getFeed, async ({ org, params: { key } }) => {
    const [row] = await feedsOf(db, org.id, key)
    if (!row) throw noFeed(key)
    const keys = await webhookKeys(bus, org.id)
    return { feed: shownFeed(row, countsOf(row), keys.has(key)) }
  })

  app.implement(deleteFeed, async ({ org, caller, params: { key } }) => {
    await db.transaction().execute(async (trx) => {
      await lockFeeds(trx, org.id) // nobody makes the feed again meanwhile
      if (!(await findFeed(trx, org.id, key))) throw noFeed(key)
      // first the webhook: whoever is cut off in between deletes the feed again, and nothing stays
      await removeWebhook(bus, { org_id: org.id, key }, caller)
      await removeFeed(trx, org.id, key)
      await enqueue(trx, audit(feedDeleted, caller, org, { key }))
    })
    return { deleted: true }
  })

  app.implement(runFeedNow, async ({ org, caller, params: { key }, body }, reply) => {
    const { post_existing } = body
    if (!(await findFeed(db, org.id, key))) throw noFeed(key)
    await db.transaction().execute(async (trx) => {
      await queueJob(trx, runFeed, { org_id: org.id, key, post_existing })
      await enqueue(trx, audit(feedRunQueued, caller, org, { key, post_existing }))
    })
    return reply.code(202).send({ queued: true })
  })
}

const countsOf = ({ waiting, uncertain }: { waiting: number; uncertain: number }) => ({
  waiting,
  uncertain,
})
