import { audit, enqueue } from '@guildhall/bus/outbox'
import { feedChanged, feedCreated, type NewFeed, putFeed } from '@guildhall/contracts/alerts'
import type { Caller } from '@guildhall/contracts/caller'
import type { App } from '@guildhall/service/app'
import { checkedWebhook } from '../clients/chat-webhook.ts'
import { type OfFeed, storeWebhook, webhookKeys } from '../clients/webhooks.ts'
import type { Trx } from '../db.ts'
import type { Deps } from '../deps.ts'
import { findFeed } from '../runs/queries.ts'
import { countFeeds, feedsOf, insertFeed, lockFeeds, updateFeed } from './queries.ts'
import { checkCount, checkNew, merged, noFeed, shownFeed } from './rules.ts'

export function saveRoutes(app: App, { db, bus, config, now }: Deps) {
  app.implement(putFeed, async ({ org, caller, params: { key }, body }, reply) => {
    const feed = { org_id: org.id, key }
    const made = await db.transaction().execute(async (trx) => {
      const { known, chosen } = await checked(trx, feed, body)
      // after every check and under the lock: what is refused, also for another who is faster, must not change the webhook
      await keepWebhook(feed, body, caller)
      if (known) await updateFeed(trx, known.id, chosen)
      else await insertFeed(trx, { ...feed, ...chosen, created_at: now() })
      const { kind, enabled } = chosen
      const fields = Object.keys(body)
      if (known) await enqueue(trx, audit(feedChanged, caller, org, { key, fields }))
      else await enqueue(trx, audit(feedCreated, caller, org, { key, kind, enabled }))
      return !known
    })
    const keys = await webhookKeys(bus, org.id)
    const [saved] = await feedsOf(db, org.id, key)
    if (!saved) throw noFeed(key) // deleted meanwhile
    const { waiting, uncertain, ...row } = saved
    const shown = shownFeed(row, { waiting, uncertain }, keys.has(key))
    return reply.code(made ? 201 : 200).send({ feed: shown })
  })

  /** The feed as it is and as it is to be, with the feeds of the org locked. Throws what the request is refused for. */
  async function checked(trx: Trx, { org_id, key }: OfFeed, sent: NewFeed) {
    await lockFeeds(trx, org_id)
    const known = await findFeed(trx, org_id, key)
    const chosen = merged(known, sent)
    checkNew(known, sent)
    if (!known) checkCount(await countFeeds(trx, org_id))
    return { known, chosen }
  }

  async function keepWebhook(feed: OfFeed, { webhook_url }: NewFeed, caller: Caller) {
    if (webhook_url === undefined) return
    const url = checkedWebhook(webhook_url, config.ALERTS_WEBHOOK_ORIGINS)
    await storeWebhook(bus, feed, url.href, caller)
  }
}
