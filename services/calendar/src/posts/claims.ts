import { audit, enqueue } from '@guildhall/bus/outbox'
import { eventsPosted } from '@guildhall/contracts/event-posts'
import { newId } from '@guildhall/service/id'
import { sql } from 'kysely'
import type { Db } from '../db.ts'

/** How long one may be at a day; reading the notes and the request take less. */
const CLAIM_SECONDS = 120
const UNTIL = sql<Date>`now() + make_interval(secs => ${CLAIM_SECONDS})`
const NOW = sql<Date>`now()`
const ENDED = { claim_id: null, claimed_until: null, updated_at: NOW }

/** What is said of a post that nobody saw the end of. */
const CUT_OFF =
  'The process ended while it was posted: it may or may not stand in the channel. It is not repeated'
const MISSED = 'It was not posted: its time was over when the bot and the calendar worked again'

export interface Claim {
  org_id: number
  day: string
  claim_id: string
}

/**
 * The post of a day, for whoever gets it: the first, and after a refusal or a process that ended before it posted anything,
 * one more. Nothing for everybody else, for good once it may stand in the channel.
 */
export async function claimDay(db: Db, org_id: number, day: string): Promise<Claim | undefined> {
  const claim_id = newId()
  const row = await db
    .insertInto('event_posts')
    .values({ org_id, day, state: 'claimed', claim_id, claimed_until: UNTIL })
    .onConflict((on) =>
      on
        .columns(['org_id', 'day'])
        .doUpdateSet({ state: 'claimed', claim_id, claimed_until: UNTIL })
        .where((eb) =>
          eb.or([
            eb('event_posts.state', '=', 'refused'),
            eb.and([
              eb('event_posts.state', '=', 'claimed'),
              eb('event_posts.claimed_until', '<', NOW),
            ]),
          ]),
        ),
    )
    .returning('claim_id')
    .executeTakeFirst()
  return row && { org_id, day, claim_id }
}

const claimed = (db: Db, { org_id, day, claim_id }: Claim, state: 'claimed' | 'posting') =>
  db
    .updateTable('event_posts')
    .where('org_id', '=', org_id)
    .where('day', '=', day)
    .where('claim_id', '=', claim_id)
    .where('state', '=', state)

/** Committed just before the request: from here on the day is never posted again. False where the claim does not hold. */
export async function beginPost(db: Db, claim: Claim, events: number): Promise<boolean> {
  const { numUpdatedRows } = await claimed(db, claim, 'claimed')
    .set({ state: 'posting', events, claimed_until: UNTIL, error: null })
    .where('claimed_until', '>', NOW)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Ends a claim that came to no request: there is nothing to post, or why not. */
export async function endUnposted(db: Db, claim: Claim, error: string | null) {
  const state = error === null ? 'empty' : 'refused'
  await claimed(db, claim, 'claimed')
    .set({ ...ENDED, state, error })
    .execute()
}

interface End {
  state: 'posted' | 'refused' | 'uncertain'
  error: string | null
}

/** Writes what became of the request. */
export async function endPost(db: Db, claim: Claim, { state, error }: End): Promise<void> {
  await claimed(db, claim, 'posting')
    .set({ ...ENDED, state, error })
    .execute()
}

interface Posted {
  channel_id: string
  message_id: string
  events: number
}

/** Writes that it stands in the channel, and its audit line. */
export async function endPosted(db: Db, claim: Claim, said: Posted): Promise<void> {
  const { org_id, day } = claim
  const by = { source: 'bot', actor_kind: 'job', actor_id: null } as const
  await db.transaction().execute(async (trx) => {
    await endPost(trx, claim, { state: 'posted', error: null })
    await enqueue(trx, audit(eventsPosted, by, { id: org_id }, { ...said, day }))
  })
}

/** Notes a day for which it is too late, where nobody had it. */
export async function noteMissed(db: Db, org_id: number, day: string): Promise<void> {
  await db
    .insertInto('event_posts')
    .values({ org_id, day, state: 'refused', error: MISSED })
    .onConflict((on) => on.doNothing())
    .execute()
}

/** Sees to posts whose process ended: of those that may have gone out nobody knows, the others did not. Answers how many. */
export async function sweepPosts(db: Db): Promise<number> {
  const { numUpdatedRows } = await db
    .updateTable('event_posts')
    .set({ ...ENDED, state: 'uncertain', error: CUT_OFF })
    .where('state', '=', 'posting')
    .where('claimed_until', '<', NOW)
    .executeTakeFirst()
  await db
    .updateTable('event_posts')
    .set({ ...ENDED, state: 'refused', error: 'The process ended before it was posted' })
    .where('state', '=', 'claimed')
    .where('claimed_until', '<', NOW)
    .execute()
  return Number(numUpdatedRows)
}
