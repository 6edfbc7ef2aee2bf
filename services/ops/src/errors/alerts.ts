import { setTimeout as wait } from 'node:timers/promises'
import { AppError, isDatabaseAway } from '@guildhall/service/errors'
import { postMessage, type Webhook } from '../clients/chat-webhook.ts'
import { activeOrg, errorWebhook } from '../clients/orgs.ts'
import type { Config } from '../config.ts'
import type { Deps } from '../deps.ts'
import { type Alert, claimAlert, claimHeld, deleteAlerts, hold } from './alert-queries.ts'
import type { Budget } from './budget.ts'
import { textOf, textOfHeld } from './message.ts'

/** How late a message may start. */
const LOOK_MS = 1_000
/** The last try comes an hour after the first. */
const MOST_ATTEMPTS = 6

export interface Alerting extends Pick<Deps, 'db' | 'bus' | 'log'> {
  config: Pick<Config, 'ERROR_WEBHOOK_URL' | 'ALERTS_WEBHOOK_ORIGINS'>
  budget: Budget
}

/**
 * Sends the messages of errors that are new or came back, until `signal` aborts. Any number of replicas may: each row is
 * claimed by one. A row goes after its message was sent, so one is told again where the process dies in between.
 */
export async function keepAlerting(alerting: Alerting, signal: AbortSignal) {
  while (!signal.aborted) {
    try {
      await sendAlerts(alerting, signal)
    } catch (error) {
      // a line at error would be an error to tell of
      if (!isDatabaseAway(error)) alerting.log.warn({ err: error }, 'Error messages wait')
    }
    await wait(LOOK_MS, undefined, { signal }).catch(() => {})
  }
}

/** Sends what is due, first what was held back before. */
export async function sendAlerts(alerting: Alerting, signal?: AbortSignal) {
  const { db, budget } = alerting
  while (budget.room()) {
    const held = await claimHeld(db)
    if (!held[0]) break
    await send(alerting, held[0], held, textOfHeld(held.length))
  }
  while (!signal?.aborted) {
    const alert = await claimAlert(db)
    if (!alert) return
    await send(alerting, alert, [alert])
  }
}

async function send(alerting: Alerting, alert: Alert, all: Alert[], text?: string) {
  const { db, log, budget } = alerting
  try {
    const to = await destinationOf(alerting, alert)
    if (!to) return await deleteAlerts(db, all)
    if (!budget.take()) return await hold(db, all)
    await postMessage(to, text ?? textOf({ ...alert, org: to.org }))
    await deleteAlerts(db, all)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const last = error.code === 'error_webhook.refused' || alert.attempts >= MOST_ATTEMPTS
    const { target, org_id: org } = alert
    log.warn({ err: error, org, target, last }, 'An error message could not be sent')
    if (last) await deleteAlerts(db, all)
  }
}

/** Where it goes, if anywhere, and the name of its org. Throws AppError('unavailable') while auth does not answer. */
async function destinationOf(
  { bus, config }: Alerting,
  { target, org_id }: Alert,
): Promise<(Webhook & { org: string | undefined }) | undefined> {
  if (target === 'deployment' && !config.ERROR_WEBHOOK_URL) return undefined
  const found = org_id === null ? undefined : await activeOrg(bus, org_id)
  const org = found?.prefix
  if (target === 'deployment') return { url: String(config.ERROR_WEBHOOK_URL), guarded: false, org }
  const url = found && URL.parse((await errorWebhook(bus, found.id)) ?? '')
  if (!url) return undefined
  const named = config.ALERTS_WEBHOOK_ORIGINS.includes(url.origin)
  if (url.protocol !== 'https:' && !named) return undefined
  return { url: url.href, guarded: url.protocol === 'https:', org }
}
