import { ask } from '@guildhall/bus/calls'
import type { Bus } from '@guildhall/bus/connect'
import {
  findAlertWebhooks,
  removeAlertWebhook,
  storeAlertWebhook,
  webhookSecret,
} from '@guildhall/contracts/alert-webhooks'
import type { Caller } from '@guildhall/contracts/caller'
import { actorOf } from '@guildhall/contracts/event'
import { findSecrets } from '@guildhall/contracts/secrets'

/** A feed by its org and key. */
export interface OfFeed {
  org_id: number
  key: string
}

const actor = (caller: Caller) => ({ source: 'http' as const, ...actorOf(caller) })

/** Keeps the webhook of a feed as a secret of the org. Throws `secrets_key.unset` (503) where there is no SECRETS_KEY. */
export async function storeWebhook(bus: Bus, feed: OfFeed, webhook_url: string, caller: Caller) {
  await ask(bus, storeAlertWebhook, { ...feed, webhook_url, by: actor(caller) })
}

/** Forgets the webhook of a feed; harmless twice. */
export async function removeWebhook(bus: Bus, feed: OfFeed, caller: Caller) {
  await ask(bus, removeAlertWebhook, { ...feed, by: actor(caller) })
}

/** The keys of the feeds whose webhook is set. */
export async function webhookKeys(bus: Bus, org_id: number): Promise<ReadonlySet<string>> {
  return new Set((await ask(bus, findAlertWebhooks, { org_id })).keys)
}

/** The webhook of a feed as it is now. It goes into a request and nowhere else. */
export async function readWebhook(bus: Bus, { org_id, key }: OfFeed): Promise<string | undefined> {
  const name = webhookSecret(key)
  const { secrets } = await ask(bus, findSecrets('alerts'), { org_id, names: [name] })
  return secrets[name]
}
