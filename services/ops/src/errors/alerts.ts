import { setTimeout as wait } from 'node:timers/promises'
import { AppError, isDatabaseAway } from '@guildhall/service/errors'
import { postMessage, type Webhook } from '../clients/chat-webhook.ts'
import { activeOrg, errorWebhook } from '../clients/orgs.ts'
import type { Config } from '../config.ts'
import type { Deps } from '../deps.ts'
import {
  type Alert,
  claimAlert,
  claimHeld,
  deleteAlerts,
  failChannel,
  heldOrgs,
  hold,
  type Target,
} from './alert-queries.ts'
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
 * The channels of orgs, which may hang, hold up none of the deployment's.
 */
export async function keepAlerting(alerting: Alerting, signal: AbortSignal) {
  await Promise.all([keepLane(alerting, 'deployment', signal), keepLane(alerting, 'org', signal)])
}

async function keepLane(alerting: Alerting, target: Target, signal: AbortSignal) {
  while (!signal.aborted) {
    try {
      await sendHeld(alerting, target, signal)
      await sendAlerts(alerting, target, signal)
    } catch (error) {
      // a line at error would be an error to tell of
      if (!isDatabaseAway(error)) alerting.log.warn({ err: error }, 'Error messages wait')
    }
    await wait(LOOK_MS, undefined, { signal }).catch(() => {})
  }
}

/** Tells in one message what was held back before, for which there is room now. */
async function sendHeld(alerting: Alerting, target: Target, signal: AbortSignal) {
  const { db, budget } = alerting
  for (const org of await heldOrgs(db, target)) {
    if (signal.aborted) return
    if (!budget.room(org)) continue
    const held = await claimHeld(db, target, org)
    if (held[0]) await send(alerting, held[0], held)
  }
}

async function sendAlerts(alerting: Alerting, target: Target, signal: AbortSignal) {
  while (!signal.aborted) {
    const alert = await claimAlert(alerting.db, target)
    if (!alert) return
    await send(alerting, alert, [alert])
  }
}

/** Sends one message, of `alert` or of all that were held back with it. */
async function send(alerting: Alerting, alert: Alert, all: Alert[]) {
  const { db, log, budget } = alerting
  const { target, org_id, attempts, held } = alert
  try {
    const to = await destinationOf(alerting, alert)
    if (!to) return await deleteAlerts(db, all)
    const giveBack = budget.take(org_id)
    if (!giveBack) return await hold(db, all)
    const text = held ? textOfHeld(all.length, to.org) : textOf({ ...alert, org: to.org })
    await postMessage(to, text).catch((error) => {
      giveBack() // only what was delivered counts
      throw error
    })
    await deleteAlerts(db, all)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const refused = error.code === 'error_webhook.refused'
    const last = refused || attempts >= MOST_ATTEMPTS
    log.warn({ err: error, org: org_id, target, last }, 'An error message could not be sent')
    if (refused) await deleteAlerts(db, all)
    await failChannel(db, alert, MOST_ATTEMPTS)
  }
}

/**
 * Where it goes, if anywhere, and the name of its org. Throws AppError('unavailable') while auth does not answer for the
 * channel of an org.
 */
async function destinationOf(
  { bus, config }: Alerting,
  { target, org_id }: Alert,
): Promise<(Webhook & { org: string | undefined }) | undefined> {
  if (target === 'deployment' && !config.ERROR_WEBHOOK_URL) return undefined
  const asked = org_id === null ? undefined : activeOrg(bus, org_id)
  if (target === 'deployment') {
    // the operator hears of it while auth is away too, then by the number of the org
    const org = await asked?.then((one) => one?.prefix).catch(() => `org ${org_id}`)
    return { url: String(config.ERROR_WEBHOOK_URL), guarded: false, org }
  }
  const found = await asked
  const org = found?.prefix
  const url = found && URL.parse((await errorWebhook(bus, found.id)) ?? '')
  if (!url) return undefined
  const named = config.ALERTS_WEBHOOK_ORIGINS.includes(url.origin)
  if (url.protocol !== 'https:' && !named) return undefined
  return { url: url.href, guarded: !named, org }
}
