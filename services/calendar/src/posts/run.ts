import { ask, isUnanswered } from '@guildhall/bus/calls'
import { MOST_POSTED_EVENTS, postEvents } from '@guildhall/contracts/event-posts'
import { findOrg } from '@guildhall/contracts/orgs'
import { AppError, isDatabaseAway } from '@guildhall/service/errors'
import type { Deps } from '../deps.ts'
import { shownEvent } from '../events/rules.ts'
import { settingsOf } from '../settings/queries.ts'
import {
  beginPost,
  type Claim,
  claimDay,
  endPost,
  endPosted,
  endUnposted,
  noteMissed,
  sweepPosts,
} from './claims.ts'
import { scheduledPosts } from './queries.ts'
import { dueDay, eventsOn } from './rules.ts'

const ORGS_AT_ONCE = 100
/** Of a nonce, as the chat platform takes it. */
const NONCE_CHARS = 25

type Scheduled = Awaited<ReturnType<typeof scheduledPosts>>[number]

/**
 * Posts what is due, each day of an org at most once: the claim stands here, where a schema is, and the bot only posts.
 * A day whose post was refused comes again at the next run, until it is too late.
 */
export async function postDue(deps: Deps, signal: AbortSignal) {
  const { db, log } = deps
  const counts = { posted: 0, uncertain: await sweepPosts(db) }
  for (let after = 0; !signal.aborted; ) {
    const page = await scheduledPosts(db, after, ORGS_AT_ONCE)
    const last = page.at(-1)
    if (!last) break
    after = last.org_id
    for (const org of page) {
      if (signal.aborted) break
      if (await postOrg(deps, org).catch((error) => failed(org, error))) counts.posted++
    }
  }
  return counts

  /** One org's fault holds up no other. */
  function failed({ org_id }: Scheduled, error: unknown) {
    if (isDatabaseAway(error)) throw error
    if (error instanceof AppError)
      log.warn({ err: error, org: org_id }, 'The events of a day could not be posted')
    else log.error({ err: error, org: org_id }, 'The post of a day failed by a fault of ours')
    return false
  }
}

/** True where it was posted. */
async function postOrg(deps: Deps, scheduled: Scheduled): Promise<boolean> {
  const { db, bus, config, now } = deps
  const { org_id, channel_id, events_post_at, changed_at } = scheduled
  if (events_post_at === null || channel_id === null) return false
  const time_zone = scheduled.time_zone ?? config.TIMEZONE
  const due = dueDay({ events_post_at, time_zone, changed_at }, now())
  if (!due) return false
  const { org } = await ask(bus, findOrg, { id: org_id })
  if (!org?.modules.includes('calendar')) return false
  if (due.late) {
    await noteMissed(db, org_id, due.day)
    return false
  }
  const claim = await claimDay(db, org_id, due.day)
  return claim ? postDay(deps, claim, { channel_id, time_zone }) : false
}

interface Where {
  channel_id: string
  time_zone: string
}

async function postDay(deps: Deps, claim: Claim, where: Where): Promise<boolean> {
  const { db } = deps
  const found = await eventsOf(deps, claim, where).catch(async (error: unknown) => {
    if (error instanceof AppError) await endUnposted(db, claim, error.message)
    throw error
  })
  if (found.length === 0) await endUnposted(db, claim, null)
  if (found.length === 0 || !(await beginPost(db, claim, found.length))) return false
  const events = found.slice(0, MOST_POSTED_EVENTS).map(shownEvent)
  const said = await send(deps, claim, { ...where, events, total: found.length })
  if (said.is === 'posted') {
    const { message_id } = said
    await endPosted(db, claim, { ...where, message_id, events: found.length })
    return true
  }
  const state = said.is === 'refused' ? 'refused' : 'uncertain'
  await endPost(db, claim, { state, error: said.why })
  return false
}

async function eventsOf({ db, events }: Deps, { org_id, day }: Claim, { time_zone }: Where) {
  return eventsOn(await events.of(await settingsOf(db, org_id)), day, time_zone)
}

type Sending = Where & { events: ReturnType<typeof shownEvent>[]; total: number }

/** Has the bot post, once. Where it did not say what became of it, nobody knows. */
async function send({ bus, log }: Deps, { org_id, day, claim_id }: Claim, sending: Sending) {
  const nonce = claim_id.replaceAll('-', '').slice(-NONCE_CHARS)
  try {
    return await ask(bus, postEvents, { ...sending, org_id, day, nonce })
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    log.warn({ err: error, org: org_id }, 'The bot did not post the events of a day')
    const why = error.message
    if (!isUnanswered(error)) return { is: 'refused', why } as const
    return { is: 'unknown', why: `${why}. It may or may not stand in the channel` } as const
  }
}
