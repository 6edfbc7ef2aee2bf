import { z } from 'zod'
import { FeedKey } from './alerts.ts'
import { call } from './call.ts'
import { AuditEvent } from './event.ts'

/** Webhooks of alert feeds are secrets of the org: auth keeps them, alerts asks (interface.md, Alert feed). */

/** The secret that holds the webhook of a feed. */
export const webhookSecret = (key: string) => `alert_webhook_${key}` as const

const OfFeed = z.object({
  org_id: z.int(),
  key: FeedKey,
  by: AuditEvent.pick({ source: true, actor_kind: true, actor_id: true }),
})

export const storeAlertWebhook = call({
  service: 'auth',
  name: 'store_alert_webhook',
  summary: 'Keep the webhook of an alert feed as a secret of the org, instead of the one before',
  callers: ['alerts'],
  args: OfFeed.extend({ webhook_url: z.string().max(2000) }),
  reply: z.object({}),
})

export const removeAlertWebhook = call({
  service: 'auth',
  name: 'remove_alert_webhook',
  summary: 'Forget the webhook of an alert feed; nothing happens where there is none',
  callers: ['alerts'],
  args: OfFeed,
  reply: z.object({}),
})

export const findAlertWebhooks = call({
  service: 'auth',
  name: 'find_alert_webhooks',
  summary: 'The keys of the alert feeds whose webhook an org has set; no values',
  callers: ['alerts'],
  args: z.object({ org_id: z.int() }),
  reply: z.object({ keys: z.array(z.string()) }),
})
