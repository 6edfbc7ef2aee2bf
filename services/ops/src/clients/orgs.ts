import { ask } from '@guildhall/bus/calls'
import type { Bus } from '@guildhall/bus/connect'
import { findOrg } from '@guildhall/contracts/orgs'
import { type DeclaredSecret, findSecrets } from '@guildhall/contracts/secrets'

const WEBHOOK = 'error_webhook_url' satisfies DeclaredSecret

/** An active org; nothing for any other. Throws AppError('unavailable') while auth does not answer. */
export async function activeOrg(bus: Bus, id: number) {
  return (await ask(bus, findOrg, { id })).org ?? undefined
}

/** Where the org wants to hear of its errors, if anywhere. It goes into a request and nowhere else. */
export async function errorWebhook(bus: Bus, org_id: number): Promise<string | undefined> {
  return (await ask(bus, findSecrets('ops'), { org_id, names: [WEBHOOK] })).secrets[WEBHOOK]
}
