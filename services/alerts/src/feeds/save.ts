import { audit, enqueue } from '@guildhall/bus/outbox'
import { feedChanged, feedCreated, type NewFeed, putFeed } from '@guildhall/contracts/alerts'
import type { App } from '@guildhall/service/app'
import { checkedWebhook } from '../clients/chat-webhook.ts'
import { storeWebhook, webhookKeys } from '../clients/webhooks.ts'
import type { Trx } from '../db.ts'
import type { Deps } from '../deps.ts'
import { findFeed } from '../runs/queries.ts'
import { countFeeds, feedsOf, insertFeed, lockFeeds, updateFeed } from './queries.ts'
import { checkCount, checkNew, merged, noFeed, shownFeed } from './rules.ts'

export function saveRoutes(app: App, { db, bus, config, now }: Deps) {
  app.implement(putFeed, async ({ org, caller, params: { key }, body }, reply) => {
    const feed = { org_id: org.id, key }
    const known = await findFeed(db, org.id, key)
    merged(known, body) // what is refused must not change the webhook
    checkNew(known, body)
    if (body.webhook_url !== undefined) {
      const url = checkedWebhook(body.webhook_url, config.ALERTS_WEBHOOK_ORIGINS)
      await storeWebhook(bus, feed, url.href, caller)
    }
    const made = await db.transaction().execute(async (trx) => {
      const isNew = await save(trx, feed, body)
      const fields = Object.keys(body)
      const { kind, enabled } = await savedFeed(trx)
      if (isNew) await enqueue(trx, audit(feedCreated, caller, org, { key, kind, enabled }))
      else await enqueue(trx, audit(feedChanged, caller, org, { key, fields }))
      return isNew
    })
    const keys = await webhookKeys(bus, org.id)
    const { waiting, uncertain, ...row } = await savedFeed(db)
    const shown = shownFeed(row, { waiting, uncertain }, keys.has(key))
    return reply.code(made ? 201 : 200).send({ feed: shown })

    async function savedFeed(from: typeof db) {
      const [saved] = await feedsOf(from, org.id, key)
      if (!saved) throw noFeed(key) // deleted meanwhile
      return saved
    }
  })

  /** True where the feed is new. */
  async function save(trx: Trx, feed: { org_id: number; key: string }, sent: NewFeed) {
    await lockFeeds(trx, feed.org_id)
    const known = await findFeed(trx, feed.org_id, feed.key)
    const chosen = merged(known, sent)
    if (known) {
      await updateFeed(trx, known.id, chosen)
      return false
    }
    checkNew(known, sent)
    checkCount(await countFeeds(trx, feed.org_id))
    await insertFeed(trx, { ...feed, ...chosen, created_at: now() })
    return true
  }
}
