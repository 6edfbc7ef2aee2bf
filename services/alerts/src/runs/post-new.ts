import { setTimeout as wait } from 'node:timers/promises'
import { AppError } from '@guildhall/service/errors'
import { checkedWebhook, type Outcome, post } from '../clients/chat-webhook.ts'
import { readWebhook } from '../clients/webhooks.ts'
import type { Deps } from '../deps.ts'
import { beginPost, type Claim, claimNext, endClaim } from './claims.ts'
import type { Lease } from './leases.ts'

/** Posts of one run, and the pause between two (interface.md, Limits and Alert feeds). */
export const MOST_POSTS = 25
const PAUSE_MS = 500
/** Pauses that the chat platform asks for and a run waits for; a longer one is left to the next run. */
const LONGEST_PAUSE_MS = 30_000
const MOST_PAUSES = 3

/** What a run posted, and why it stopped or what went wrong. */
export interface Posted {
  posted: number
  errors: string[]
}

interface Posting {
  signal: AbortSignal
  /** What officers are told of an error; throws what ends the run without a trace. */
  tell(error: unknown): string
}

/**
 * Posts new items until there are no more, 25 were tried, or the webhook takes none. It ends at the first post of unknown
 * outcome: a webhook that hangs makes one item uncertain and not all of them.
 */
export async function postNew(deps: Deps, lease: Lease, posting: Posting): Promise<Posted> {
  const soFar: SoFar = { posted: 0, errors: [], badItems: [], pauses: 0, pauseMs: 0 }
  for (let tried = 0; tried < MOST_POSTS; tried++) {
    if (!(await paused(soFar.pauseMs, posting.signal))) break
    const one = await postOne(deps, lease, soFar.badItems).catch((error) =>
      broken(posting.tell(error)),
    )
    if (!one || !goesOn(soFar, one)) break
  }
  return { posted: soFar.posted, errors: [...new Set(soFar.errors)] }
}

interface SoFar extends Posted {
  /** Refused for what they are: the next run tries them again. */
  badItems: string[]
  pauses: number
  pauseMs: number
}

/** Whether another item is to be posted after this one. */
function goesOn(soFar: SoFar, { id, outcome }: { id: string; outcome: Outcome }): boolean {
  soFar.pauseMs = PAUSE_MS
  if (outcome.is === 'posted') {
    soFar.posted++
    return true
  }
  const askedMs = shortPause(outcome)
  if (askedMs !== undefined && soFar.pauses < MOST_PAUSES) {
    soFar.pauses++
    soFar.pauseMs = Math.max(PAUSE_MS, askedMs)
    return true
  }
  soFar.errors.push(outcome.why)
  soFar.badItems.push(id)
  return outcome.is === 'refused' && !outcome.all
}

const broken = (why: string) => ({ id: '', outcome: { is: 'refused', why, all: true } as Outcome })

/** The pause that the chat platform asks for, if a run waits that long. */
function shortPause(outcome: Outcome): number | undefined {
  const ms = outcome.is === 'refused' ? outcome.afterMs : undefined
  return ms !== undefined && ms <= LONGEST_PAUSE_MS ? ms : undefined
}

/** False where the run is to stop. */
const paused = (ms: number, signal: AbortSignal) =>
  wait(ms, !signal.aborted, { signal }).catch(() => false)

/** Claims an item, and posts it if the claim still holds once the webhook is known. Nothing where there is none to post. */
async function postOne(
  deps: Deps,
  lease: Lease,
  except: readonly string[],
): Promise<{ id: string; outcome: Outcome } | undefined> {
  const { db, bus, config } = deps
  const claim = await claimNext(db, lease, except)
  if (!claim) return undefined
  const url = await webhookOf().catch(async (error) => {
    await endClaim(db, claim, { state: 'new', error: null })
    throw error
  })
  if (!(await beginPost(db, claim, lease))) return undefined
  const outcome = await post(url, claim.embed)
  await keep(deps, claim, outcome)
  return { id: claim.id, outcome }

  async function webhookOf() {
    const webhook = await readWebhook(bus, lease)
    if (webhook === undefined) throw noWebhook()
    return checkedWebhook(webhook, config.ALERTS_WEBHOOK_ORIGINS)
  }
}

function keep({ db }: Deps, claim: Claim, outcome: Outcome): Promise<void> {
  if (outcome.is === 'posted') return endClaim(db, claim, { state: 'posted', error: null })
  const error = outcome.why
  if (outcome.is === 'unknown') return endClaim(db, claim, { state: 'uncertain', error })
  return endClaim(db, claim, { state: 'new', error, refused: !outcome.all })
}

const noWebhook = () =>
  new AppError('conflict', 'feed.webhook_missing', 'The feed has no webhook; set webhook_url')
